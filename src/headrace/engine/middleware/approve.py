"""`Approve`: rules for which calls run, which are denied, and which a person must approve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from headrace.engine.middleware.middleware import Ask, Decision, Deny, Middleware, RunView, ToolCall
from headrace.errors import UsageError

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Rule: TypeAlias = Verdict | Callable[[ToolCall, RunView], Verdict]
_VERDICTS = ("allow", "ask", "deny")


class Approve(Middleware):
    """Asks a person before calls of some tools, and denies others.

    `rules` maps names of tools to `"allow"`, `"ask"` or `"deny"`, or to a function of the call and
    the run that returns one of these: `run.user` is the user. A name may be a pattern such as
    `"delete_*"`. The first rule that fits decides; for a call without one, `default` does.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        *,
        default: Verdict = "allow",
        message: str = "",
        expires_in_s: float | None = None,
    ) -> None:
        for name, rule in [*rules.items(), ("default", default)]:
            if not callable(rule) and rule not in _VERDICTS:
                raise UsageError(f"{name}: expected allow, ask or deny; got {rule!r}")
        self._rules = dict(rules)
        self._default: Verdict = default
        self._ask = Ask(message=message, expires_in_s=expires_in_s)

    def before_tool(self, run: RunView, call: ToolCall) -> Decision:
        """Decide about a call."""
        match self._judge(run, call):
            case "allow":
                return None
            case "ask":
                return self._ask
            case "deny":
                return Deny(f"{call.name} is not allowed.")

    def _judge(self, run: RunView, call: ToolCall) -> Verdict:
        for pattern, rule in self._rules.items():
            if fnmatchcase(call.name, pattern):
                verdict = rule(call, run) if callable(rule) else rule
                if verdict not in _VERDICTS:
                    raise TypeError(f"a rule for {call.name} returned {verdict!r}")
                return verdict
        return self._default

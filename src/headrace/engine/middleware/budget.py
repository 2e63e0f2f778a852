"""`Budget`: middleware that limits the calls, tokens and cost of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace.encoders import Request
from headrace.engine.middleware.middleware import Deny, Middleware, RunView, ToolCall
from headrace.errors import Terminate, UsageError
from headrace.usage import Usage

_HINT = (
    "The call was not run: it has been made {} times with the same arguments, and more of it "
    "brings nothing new. Use the results that you have, try something else, or answer."
)


class Budget(Middleware):
    """Ends a run as `aborted(terminated)`, with the name of the limit, before it exceeds a limit.
    Limits are checked before each call and each turn; a turn that has started is not cut off.

    `max_identical_calls` is how often a tool may be called with the same arguments in a run, or
    with `is_in_a_row` without other calls between: the next such call is denied with a hint for
    the model, and the one after that ends the run. `max_tokens` (input and output of all turns)
    and `max_cost` (US dollars) count what the provider reports; for a provider that reports no
    cost, `max_cost` needs the extra `prices` and a model whose price is known. `RunLimits` has the
    limits for steps and times.
    """

    def __init__(
        self,
        *,
        max_tool_calls: int | None = None,
        max_identical_calls: int | None = None,
        is_in_a_row: bool = False,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> None:
        for limit in (max_tool_calls, max_identical_calls, max_tokens, max_cost):
            if limit is not None and limit < 0:
                raise UsageError(f"expected a limit of 0 or more; got {limit}")
        self._max_tool_calls = max_tool_calls
        self._max_identical_calls = max_identical_calls
        self._is_in_a_row = is_in_a_row
        self._max_tokens = max_tokens
        self._max_cost = max_cost
        self._key = f"budget {id(self)}"

    def on_run_resume(self, run: RunView) -> None:
        """Count the calls of the run before it was resumed. Those without a result come again."""
        spent: _Spent = run.state.setdefault(self._key, _Spent())
        for turn in run.message.turns:
            answered = {result.call_id for result in turn.results}
            for part in turn.calls:
                if part.executor == "client" and part.call_id in answered:
                    call = ToolCall(part.call_id, part.name, part.args)
                    spent.calls += 1
                    spent.times(_key(call), self._is_in_a_row)

    def on_request(self, run: RunView, request: Request) -> None:
        """Check tokens and cost before a turn."""
        self._check_spending(run)

    def before_tool(self, run: RunView, call: ToolCall) -> Deny | None:
        """Check all limits before a call."""
        self._check_spending(run)
        spent: _Spent = run.state.setdefault(self._key, _Spent())
        spent.calls += 1
        if self._max_tool_calls is not None and spent.calls > self._max_tool_calls:
            raise Terminate(f"max_tool_calls={self._max_tool_calls}")
        limit = self._max_identical_calls
        if limit is None:
            return None
        times = spent.times(_key(call), self._is_in_a_row)
        if times > limit + 1:
            raise Terminate(f"max_identical_calls={limit}: {call.name}")
        return Deny(_HINT.format(limit)) if times > limit else None

    def _check_spending(self, run: RunView) -> None:
        usage = run.message.usage
        if self._max_tokens is not None and (tokens := _tokens(usage)) > self._max_tokens:
            raise Terminate(f"max_tokens={self._max_tokens}: {tokens} were used")
        if self._max_cost is not None and (usage.cost or 0.0) > self._max_cost:
            raise Terminate(f"max_cost={self._max_cost:g}: {usage.cost:g} was spent")


@dataclass
class _Spent:
    """Counts the calls of one run."""

    calls: int = 0
    last: str = ""
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def times(self, call: str, is_in_a_row: bool) -> int:
        if is_in_a_row and call != self.last:
            self.counts.clear()
        self.last = call
        self.counts[call] = self.counts.get(call, 0) + 1
        return self.counts[call]


def _key(call: ToolCall) -> str:
    """Return a text that is equal for calls of one tool with the same arguments."""
    args: Any = call.args
    return f"{call.name} {msgspec.json.encode(args, enc_hook=repr, order='deterministic').decode()}"


def _tokens(usage: Usage) -> int:
    if usage.input_tokens is None and usage.output_tokens is None:
        return usage.total_tokens or 0
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)

"""The reference pages of the engine and of testing, and blocks of other pages about them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import msgspec

from docs import run_order
from docs.diagram import moves
from docs.outline import (
    default,
    field_docs,
    field_types,
    function,
    interface,
    one_line,
    struct,
    table,
)
from headrace import engine, testing
from headrace.engine import (
    Agent,
    AgentTool,
    Allow,
    AlreadyAnswered,
    Approve,
    Ask,
    Budget,
    CancelToken,
    Compactor,
    Conversation,
    Deny,
    ExternalTool,
    InputDenied,
    InputRequest,
    InputRequired,
    JSONLinesTrace,
    Middleware,
    Redaction,
    Result,
    Run,
    RunLimits,
    RunSummary,
    RunView,
    SecretPattern,
    Summarize,
    Terminate,
    ToolCall,
    Truncate,
)
from headrace.engine.journal.sink import Sink
from headrace.otel import OpenTelemetry

_ROOT = Path(__file__).resolve().parent.parent


# --- blocks -----------------------------------------------------------------------


def order() -> str:
    """Return the order of a run's events as a table."""
    rows = [
        (state, ", ".join(map(_code, moves(run_order.ORDER, state, to))), to)
        for state, nexts in run_order.ORDER.items()
        for to in dict.fromkeys(nexts.values())
    ]
    return table(("state", "next event", "new state"), rows)


def _code(event: str) -> str:
    return event if event == run_order.MODEL_OUTPUT else f"`{event}`"


def run_limits() -> str:
    """Return the table of `RunLimits`."""
    docs, types = field_docs(RunLimits), field_types(RunLimits)
    rows = [
        (
            f"`{field.name}`",
            f"`{types[field.name]}`",
            default(field),
            docs[field.name],
        )
        for field in msgspec.structs.fields(RunLimits)
    ]
    return table(("limit", "type", "default", "limits"), rows)


def hooks() -> str:
    """Return the table of the hooks of `Middleware`."""
    rows = [
        (f"`{name}`", _arguments(hook), f"`{_returns(hook)}`", one_line(hook))
        for name, hook in hooks_of(Middleware).items()
    ]
    return table(("hook", "arguments", "may return", "called"), rows)


def hooks_of(kind: type) -> dict[str, Any]:
    """Return the hooks by name, in the order of the source."""
    return {
        name: hook
        for name, hook in vars(kind).items()
        if callable(hook) and not name.startswith("_")
    }


def _arguments(hook: Any) -> str:
    names = list(inspect.signature(hook).parameters)[1:]
    return ", ".join(f"`{name}`" for name in names)


def _returns(hook: Any) -> str:
    return str(inspect.signature(hook).return_annotation).removeprefix("Answer[").removesuffix("]")


def example(name: str) -> str:
    """Return the source of an example and its output."""
    source = (_ROOT / "examples" / f"{name}.py").read_text("utf-8").rstrip()
    printed = (_ROOT / "tests" / "examples" / f"{name}.txt").read_text("utf-8").rstrip()
    # Indented, because the output may contain fences.
    shown = "\n".join(f"    {line}".rstrip() for line in printed.splitlines())
    return f"```py\n{source}\n```\n\nOutput:\n\n{shown}\n"


def example_files(folder: str, *names: str) -> str:
    """Return files of an example that is a folder, each with its name."""
    sources = [(name, (_ROOT / "examples" / folder / name).read_text("utf-8")) for name in names]
    return "\n\n".join(f"`{name}`:\n\n```py\n{source}```" for name, source in sources) + "\n"


# --- reference --------------------------------------------------------------------


def engine_parts() -> list[str]:
    """Return the parts of the page on the engine."""
    parts = [_ENGINE, "## Agents and runs", interface(Agent), interface(Run, is_made=False)]
    parts += [struct(Result), struct(RunLimits), _LIMITS, interface(Sink, is_made=False)]
    parts += ["## Input and sub-agents", struct(InputRequest), struct(ExternalTool)]
    parts += [interface(AlreadyAnswered, is_made=False), interface(InputRequired, is_made=False)]
    parts += [interface(InputDenied, is_made=False), interface(AgentTool, is_made=False)]
    parts += ["## Middleware", middleware_section(), hooks(), _DECISIONS]
    parts += [interface(RunView, is_made=False), _VIEW]
    parts += [struct(kind) for kind in (ToolCall, Allow, Deny, Ask)]
    parts += [interface(Terminate), interface(CancelToken), "## Built-in middleware"]
    parts += [interface(kind) for kind in (Approve, Budget, Redaction, SecretPattern)]
    parts += [_PATTERNS, interface(JSONLinesTrace), struct(RunSummary), interface(OpenTelemetry)]
    parts += ["## Conversations", interface(Conversation), interface(Compactor, is_made=False)]
    return [*parts, interface(Truncate), interface(Summarize)]


def middleware_section() -> str:
    """Return the section on `Middleware` without its hooks, which have their own table."""
    return f"### Middleware\n\n{inspect.cleandoc(Middleware.__doc__ or '')}\n"


def testing_parts() -> list[str]:
    """Return the parts of the page on testing."""
    parts = [_TESTING, "## The scripted model", interface(testing.ScriptedTransport)]
    parts += ["## Lines of a script", _LINES]
    parts += [_describe(getattr(testing, name)) for name in _SCRIPT_NAMES]
    parts += [
        "## What the scripted model receives",
        *(_describe(getattr(testing, n)) for n in _HEARD_NAMES),
    ]
    parts += ["## Time", *(_describe(getattr(testing, name)) for name in _TIME_NAMES)]
    return parts


def _describe(thing: Any) -> str:
    if not inspect.isclass(thing):
        return function(thing)
    if issubclass(thing, msgspec.Struct):
        return struct(thing)
    return interface(thing, is_made=not issubclass(thing, Exception))


_SCRIPT_NAMES = (
    "turn", "think", "say", "call", "provider_call", "approval", "redacted", "wait", "cut",
    "stall", "error", "refuse", "finish", "no_finish", "usage", "raw", "ScriptedTurn",
)  # fmt: skip
_HEARD_NAMES = ("Heard", "HeardMessage", "HeardResult", "HeardTool")
_TIME_NAMES = ("run_virtual", "VirtualLoop", "Hang", "TasksLeft")
assert {*_SCRIPT_NAMES, *_HEARD_NAMES, *_TIME_NAMES} < {*testing.__all__}
_ENGINE = """\
Agents, runs, middleware and conversations. [Runs](../topics/engine.md) explains how they work. The
names can be imported from `headrace`. [Tools](tools.md) describes `Tool`, `tool`,
`ToolContext` and `ToolReturn`."""
_LIMITS = "[Runs](../topics/engine.md#how-a-run-ends) shows how a run ends at each of them."
_DECISIONS = """\
A hook may be a plain or an async method; hooks that are not overridden cost nothing. `Decision` is
`Allow`, `Deny`, or None, which allows the call unchanged."""
_VIEW = "`run_id`, `model` and `step` identify the run and its current step."
_PATTERNS = f"""\
`API_KEYS` has {len(engine.API_KEYS)} patterns for API keys of common formats and for signed tokens.
`EMAIL` is a pattern for email addresses; it is not used by default."""
_TESTING = """\
Names of `headrace.testing`, for tests of code that uses Headrace.
[Test your agent](../howto/test-your-agent.md) shows them in use, and
[Rehearsal](../topics/rehearsal.md) explains them."""
_LINES = """\
A `Line` is what these functions return, from `think` to `raw`. A plain string is like `say`."""

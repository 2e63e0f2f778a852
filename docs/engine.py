"""What the docs tell of the engine and of testing it: reference pages, and blocks of other
pages."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import msgspec

from docs import run_order
from docs.diagram import moves
from docs.outline import default, field_docs, field_types, function, interface, struct, table
from headrace import engine, testing
from headrace.engine import (
    Agent,
    Allow,
    Budget,
    CancelToken,
    Compactor,
    Conversation,
    Deny,
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

_ROOT = Path(__file__).resolve().parent.parent


# --- blocks -----------------------------------------------------------------------


def order() -> str:
    """The order of a run as a table."""
    rows = [
        (state, ", ".join(map(_code, moves(run_order.ORDER, state, to))), to)
        for state, nexts in run_order.ORDER.items()
        for to in dict.fromkeys(nexts.values())
    ]
    return table(("while it is", "may come", "then it is"), rows)


def _code(event: str) -> str:
    return event if event == run_order.SAID else f"`{event}`"


def run_limits() -> str:
    """Every bound of a run."""
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
    return table(("limit", "type", "default", "bounds"), rows)


def hooks() -> str:
    """Every hook of `Middleware`: what it gets, what it may answer."""
    rows = [
        (f"`{name}`", _given(hook), f"`{_answer(hook)}`", inspect.cleandoc(hook.__doc__ or ""))
        for name, hook in hooks_of(Middleware).items()
    ]
    told = [(name, given, answer, " ".join(doc.split())) for name, given, answer, doc in rows]
    return table(("hook", "gets", "answers", "when, and what for"), told)


def hooks_of(kind: type) -> dict[str, Any]:
    """The hooks by name, in the order of the source."""
    return {name: hook for name, hook in vars(kind).items() if not name.startswith("_")}


def _given(hook: Any) -> str:
    names = list(inspect.signature(hook).parameters)[1:]
    return ", ".join(f"`{name}`" for name in names)


def _answer(hook: Any) -> str:
    return str(inspect.signature(hook).return_annotation).removeprefix("Answer[").removesuffix("]")


def example(name: str) -> str:
    """An example and what it prints, which the tests compare."""
    source = (_ROOT / "examples" / f"{name}.py").read_text("utf-8").rstrip()
    printed = (_ROOT / "tests" / "examples" / f"{name}.txt").read_text("utf-8").rstrip()
    # Indented, since an answer may have fences of its own.
    shown = "\n".join(f"    {line}".rstrip() for line in printed.splitlines())
    return f"```py\n{source}\n```\n\nIt prints:\n\n{shown}\n"


def example_files(folder: str, *names: str) -> str:
    """Files of an example that is a folder, each under its name."""
    sources = [(name, (_ROOT / "examples" / folder / name).read_text("utf-8")) for name in names]
    return "\n\n".join(f"`{name}`:\n\n```py\n{source}```" for name, source in sources) + "\n"


# --- reference --------------------------------------------------------------------


def engine_parts() -> list[str]:
    """The page on `headrace.engine`."""
    parts = [_ENGINE, "## Agents and runs", interface(Agent), interface(Run, is_made=False)]
    parts += [struct(Result), struct(RunLimits), _LIMITS, interface(Sink, is_made=False)]
    parts += ["## Middleware", interface_of_middleware(), hooks(), _DECISIONS]
    parts += [interface(RunView, is_made=False), _VIEW]
    parts += [struct(kind) for kind in (ToolCall, Allow, Deny)]
    parts += [interface(Terminate), interface(CancelToken), "## Middleware that comes along"]
    parts += [interface(kind) for kind in (Budget, Redaction, SecretPattern)]
    parts += [_PATTERNS, interface(JSONLinesTrace), struct(RunSummary)]
    parts += ["## Conversations", interface(Conversation), interface(Compactor, is_made=False)]
    return [*parts, interface(Truncate), interface(Summarize)]


def interface_of_middleware() -> str:
    """Without its members, which are a table of their own."""
    return f"### Middleware\n\n{inspect.cleandoc(Middleware.__doc__ or '')}\n"


def testing_parts() -> list[str]:
    """The page on `headrace.testing`."""
    parts = [_TESTING, "## The scripted model", interface(testing.ScriptedTransport)]
    parts += ["## Lines of a script", _LINES]
    parts += [_told(getattr(testing, name)) for name in _SCRIPT_NAMES]
    parts += ["## What the model hears", *(_told(getattr(testing, n)) for n in _HEARD_NAMES)]
    parts += ["## Time", *(_told(getattr(testing, name)) for name in _TIME_NAMES)]
    return parts


def _told(thing: Any) -> str:
    if not inspect.isclass(thing):
        return function(thing)
    if issubclass(thing, msgspec.Struct):
        return struct(thing)
    return interface(thing, is_made=not issubclass(thing, Exception))


_SCRIPT_NAMES = (
    "turn", "think", "say", "call", "redacted", "wait", "cut", "stall", "error", "refuse",
    "finish", "no_finish", "usage", "raw", "ScriptedTurn",
)  # fmt: skip
_HEARD_NAMES = ("Heard", "HeardMessage", "HeardResult", "HeardTool")
_TIME_NAMES = ("run_virtual", "VirtualLoop", "Hang", "TasksLeft")
assert {*_SCRIPT_NAMES, *_HEARD_NAMES, *_TIME_NAMES} < {*testing.__all__}
_ENGINE = """\
Agents, their runs, what stands around them, and conversations.
[Runs](../topics/engine.md) tells how it works. The names are in `headrace.engine`; `Agent`,
`Conversation`, `Middleware` and `tool` are also in `headrace` itself. `Tool`, `tool`,
`ToolContext` and `ToolReturn` are told in [Tools](tools.md)."""
_LIMITS = "What each of them does to a run is told in [Runs](../topics/engine.md#limits)."
_DECISIONS = """\
A hook may be plain or async; of those that are not overridden nothing is asked. `Decision` is
`Allow`, `Deny` or None, which allows the call as it is."""
_VIEW = "`run_id`, `model` and `step` say which run it is and how far."
_PATTERNS = f"""\
`API_KEYS` are {len(engine.API_KEYS)} patterns: keys of the usual shapes, and signed tokens.
`EMAIL` is one for addresses of electronic mail, which is not used unless it is asked for."""
_TESTING = """\
For tests of what is built on Headrace. [Test your agent](../howto/test-your-agent.md) shows it in
use, [Rehearsal](../topics/rehearsal.md) tells more of it. The names are in `headrace.testing`."""
_LINES = """\
`Line` is whatever these words make, from `think` to `raw`. A plain text is one that is said."""

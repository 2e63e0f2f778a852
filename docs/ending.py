"""The table of how runs end. Each case is run with the scripted model when the page is generated,
so the table shows actual behavior."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from docs.outline import table
from headrace import events as ev
from headrace.content import TextContent
from headrace.encoders import Request
from headrace.engine import Agent, Middleware, Run, RunLimits, RunView, Terminate, ToolReturn
from headrace.messages import Message
from headrace.testing import (
    ScriptedTransport,
    call,
    cut,
    error,
    finish,
    no_finish,
    refuse,
    run_virtual,
    stall,
    turn,
)
from headrace.transport import NEVER
from headrace.wire.limits import WireLimits


class Case(NamedTuple):
    """One cause of an end, and how to reproduce it with the scripted model."""

    cause: str
    turns: Sequence[Any]
    options: dict[str, Any] = {}
    act: Callable[[Run], Awaitable[None]] | None = None


# --- tools, hooks and other objects that end a run ---------------------------------


async def nap() -> str:
    """Sleep for an hour."""
    await asyncio.sleep(3600)
    return "rested"


async def order() -> ToolReturn:
    """Order, and end the run."""
    return ToolReturn(content=(TextContent("ordered"),), ends_run=True)


async def give_up() -> None:
    """Stop everything."""
    raise Terminate("nothing left to do")


class Closed(Middleware):
    """Ends every run."""

    def on_request(self, run: RunView, request: Request) -> None:
        raise Terminate("closed today")


class Broken(Middleware):
    """Raises an unexpected exception."""

    def on_request(self, run: RunView, request: Request) -> None:
        raise KeyError("tenant")


class FullDisk:
    """A log that fails."""

    async def append(self, records: Sequence[ev.Record]) -> None:
        raise OSError("No space left on device")


class Lost:
    """A compactor that fails."""

    name = "lost"

    async def compact(self, messages: Sequence[Message], *, is_forced: bool) -> None:
        raise ValueError("no summary")


async def _cancel(run: Run) -> None:
    async for record in run.records():
        if isinstance(record.event, ev.TextDelta):
            run.cancel()


async def _leave(run: Run) -> None:
    async for record in run.records():
        if isinstance(record.event, ev.TextDelta):
            break


async def _interrupt(run: Run) -> None:
    async for record in run.records():
        if isinstance(record.event, ev.TextDelta):
            run.interrupt("the server is stopping")


_SOON = RunLimits(run_timeout_s=5, turn_timeout_s=None)
CASES: tuple[Case, ...] = (
    Case("the model finishes its answer and calls no tool", ["Hi."]),
    Case("the token limit is reached", [turn("Hi", finish("max_tokens"))]),
    Case(
        "a content filter stops the answer; calls get an error result and are not run",
        [turn(call("nap"), finish("content_filter"))],
    ),
    Case("the provider sends an unknown finish reason", [turn("Hi", finish("bored"))]),
    Case("`max_iterations` steps were made", [turn(call("fly"))] * 2),
    Case("a tool returns `ToolReturn(ends_run=True)`", [turn(call("order"))]),
    Case("a tool raises `Terminate`", [turn(call("give_up"))]),
    Case("a hook raises `Terminate`, as `Budget` does", [], {"middleware": [Closed()]}),
    Case("`run.cancel()`", [turn("Well ", stall())], act=_cancel),
    Case("the block is left early, or its task is cancelled", [turn("Well ", stall())], act=_leave),
    Case("`run_timeout_s` has passed", [turn(call("nap"))], {"limits": _SOON}),
    Case(
        "`turn_timeout_s` has passed",
        [turn("Well ", stall())],
        {"limits": RunLimits(turn_timeout_s=5)},
    ),
    Case(
        "`run.interrupt()`, which a stopping server calls",
        [turn("Well ", stall())],
        act=_interrupt,
    ),
    Case("the request is rejected", [turn(refuse(401))]),
    Case(
        "the history is too long, even after compaction",
        [turn(refuse(400, category="context_overflow"))],
    ),
    Case("the provider sends an error", [turn("Well ", error("server"))]),
    Case("the connection breaks", [turn("Well ", cut())]),
    Case("the stream ends without a finish reason", [turn("Well ", no_finish())]),
    Case(
        "a limit of the stream is exceeded",
        ["Hello."],
        {"wire_limits": WireLimits(max_part_chars=3)},
    ),
    Case("a hook raises any other exception", [], {"middleware": [Broken()]}),
    Case("a compactor raises", [], {"compactor": Lost()}),
    Case("the `sink` raises", [], {"sink": FullDisk()}),
)


@cache
def ends() -> str:
    """Return the table: cause, end of the last turn, end of the run."""
    heads = ("what happens", "the last turn", "the run", "`finish` or `error`")
    return table(heads, [_row(case) for case in CASES])


def _row(case: Case) -> tuple[str, ...]:
    run = run_virtual(play(case))
    result = run.result
    reason = f"`{result.finish}`" if result.error is None else f"`{result.error.category}`"
    return case.cause, _turn(run), f"`{type(run.records_so_far[-1].event).__name__}`", reason


async def play(case: Case) -> Run:
    """Run a case to its end."""
    options: dict[str, Any] = {
        "limits": RunLimits(max_iterations=2),
        "policy": NEVER,
        "tools": [nap, order, give_up],
        "transport": ScriptedTransport(case.turns),
        **case.options,
    }
    sink, history = options.pop("sink", None), options.pop("history", ())
    async with Agent("vllm:any", **options).run("Go.", history, sink=sink) as run:
        if case.act is None:
            await run.wait()
        else:
            await case.act(run)
    return run


def _turn(run: Run) -> str:
    for record in reversed(run.records_so_far):
        if isinstance(record.event, ev.TurnFinished):
            return "finished"
        if isinstance(record.event, ev.TurnFailed):
            return f"failed: `{record.event.category}`"
    return "none"

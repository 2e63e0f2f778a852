"""How runs end: each way is played on the scripted model when the docs are made, so that the
table says what happens and not what should."""

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


class Way(NamedTuple):
    """What happens, in words and on the scripted model."""

    cause: str
    turns: Sequence[Any]
    options: dict[str, Any] = {}
    meddle: Callable[[Run], Awaitable[None]] | None = None


# --- tools, hooks and others that end a run ---------------------------------------


async def nap() -> str:
    """Sleep for an hour."""
    await asyncio.sleep(3600)
    return "rested"


async def order() -> ToolReturn:
    """Order, and be done."""
    return ToolReturn(content=(TextContent("ordered"),), ends_run=True)


async def give_up() -> None:
    """Stop everything."""
    raise Terminate("nothing left to do")


class Closed(Middleware):
    """Ends every run."""

    def on_request(self, run: RunView, request: Request) -> None:
        raise Terminate("closed today")


class Broken(Middleware):
    """Has a bug."""

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
WAYS: tuple[Way, ...] = (
    Way("the model ends its turn, and calls nothing", ["Hi."]),
    Way("the model is out of tokens", [turn("Hi", finish("max_tokens"))]),
    Way(
        "a filter steps in; calls are answered, and not run",
        [turn(call("nap"), finish("content_filter"))],
    ),
    Way("the provider gives a reason that nobody knows", [turn("Hi", finish("bored"))]),
    Way("`max_iterations` steps have gone by", [turn(call("fly"))] * 2),
    Way("a tool returns `ToolReturn(ends_run=True)`", [turn(call("order"))]),
    Way("a tool raises `Terminate`", [turn(call("give_up"))]),
    Way("a hook raises `Terminate`, as `Budget` does", [], {"middleware": [Closed()]}),
    Way("`run.cancel()`", [turn("Well ", stall())], meddle=_cancel),
    Way("the block is left early, or its task cancelled", [turn("Well ", stall())], meddle=_leave),
    Way("`run_timeout_s` is over", [turn(call("nap"))], {"limits": _SOON}),
    Way(
        "`turn_timeout_s` is over",
        [turn("Well ", stall())],
        {"limits": RunLimits(turn_timeout_s=5)},
    ),
    Way(
        "`run.interrupt()`, as a server does that is stopping",
        [turn("Well ", stall())],
        meddle=_interrupt,
    ),
    Way("the request is refused", [turn(refuse(401))]),
    Way(
        "the history is too long, also when compacted",
        [turn(refuse(400, category="context_overflow"))],
    ),
    Way("the provider tells an error", [turn("Well ", error("server"))]),
    Way("the connection breaks", [turn("Well ", cut())]),
    Way("the stream ends without a reason", [turn("Well ", no_finish())]),
    Way("a limit of the wire is passed", ["Hello."], {"wire_limits": WireLimits(max_part_chars=3)}),
    Way("a hook raises anything else", [], {"middleware": [Broken()]}),
    Way("a compactor raises", [], {"compactor": Lost()}),
    Way("the `sink` raises", [], {"sink": FullDisk()}),
)


@cache
def ends() -> str:
    """Every way as a row: the cause, how the last turn ended, and how the run did."""
    heads = ("what happens", "the last turn", "the run", "`finish` or `error`")
    return table(heads, [_row(way) for way in WAYS])


def _row(way: Way) -> tuple[str, ...]:
    run = run_virtual(played(way))
    result = run.result
    told = f"`{result.finish}`" if result.error is None else f"`{result.error.category}`"
    return way.cause, _turn(run), f"`{type(run.records_so_far[-1].event).__name__}`", told


async def played(way: Way) -> Run:
    """The run that comes of it, at its end."""
    options: dict[str, Any] = {
        "limits": RunLimits(max_iterations=2),
        "policy": NEVER,
        "tools": [nap, order, give_up],
        "transport": ScriptedTransport(way.turns),
        **way.options,
    }
    sink, history = options.pop("sink", None), options.pop("history", ())
    async with Agent("vllm:any", **options).run("Go.", history, sink=sink) as run:
        if way.meddle is None:
            await run.wait()
        else:
            await way.meddle(run)
    return run


def _turn(run: Run) -> str:
    for record in reversed(run.records_so_far):
        if isinstance(record.event, ev.TurnFinished):
            return "finished"
        if isinstance(record.event, ev.TurnFailed):
            return f"failed: `{record.event.category}`"
    return "none"

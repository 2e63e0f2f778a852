"""Runs on the scripted model: the scripts, the ways to disturb them, and what must hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace import events as ev
from headrace.content import TextContent
from headrace.encoders import Request
from headrace.engine import Agent, Run, RunLimits
from headrace.engine.limits import DEFAULT_RUN_LIMITS
from headrace.events import Record
from headrace.messages import CallPart, Message, fold
from headrace.rehearsal.script import ScriptedTurn, call, redacted, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ToolContext
from headrace.transport.retry import NEVER
from headrace.transport.stream_error import stream_broken
from headrace.transport.transport import HTTPCall
from headrace.turn.model import model_for
from tests.grammar import check_grammar
from tests.published import accepts

MODELS = {
    "chat": "openai-chat:gpt-5",
    "anthropic": "anthropic:claude-x",
    "responses": "openai:gpt-5",
}
PACE_S = 1.0
TERMINALS = (ev.RunFinished, ev.RunFailed)


def _paced(*lines: Any) -> ScriptedTurn:
    return turn(*lines, pace_s=PACE_S)


RUNS: dict[str, Callable[[], list[ScriptedTurn]]] = {
    "text": lambda: [_paced(say("The tide is high at noon."))],
    "a signed call": lambda: [
        _paced(think("Let me look.", signed=True), call("add", a=1, b=2)),
        _paced(say("It is 3.")),
    ],
    "parallel tools": lambda: [
        _paced(say("Both."), call("add", a=1, b=2), call("slow", n=3), call("add", a=2, b=2)),
        _paced(say("Done.")),
    ],
    "two steps with reasoning between": lambda: [
        _paced(think("First."), redacted("xyz"), call("add", a=1, b=2)),
        _paced(think("Then.", signed=True), call("slow", n=1)),
        _paced(say("So be it.")),
    ],
}


class Crash(Exception):
    """A tool that breaks."""


@dataclass
class Bench:
    """The tools of a run, and how often they were called."""

    crashes_at: int | None = None
    calls: int = 0
    running: int = 0
    most: int = 0
    log: list[str] = field(default_factory=list)

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.crashes_at:
            raise Crash("the tool broke")

    def tools(self) -> list[Callable[..., Any]]:
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self._count()
            return a + b

        async def slow(n: int, context: ToolContext) -> str:
            """Take a while."""
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                for step in range(n):
                    context.progress(f"step {step}", progress=step / n)
                    await asyncio.sleep(PACE_S)
                self._count()
                return "slept"
            finally:
                self.running -= 1

        return [add, slow]


class CuttingTransport:
    """Another transport whose connection breaks after so many reads in all."""

    def __init__(self, inner: ScriptedTransport, reads: int) -> None:
        self._inner = inner
        self.reads = reads

    async def open(self, call: HTTPCall) -> Any:
        return _CutStream(await self._inner.open(call), self)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CutStream:
    request_id: str | None = None
    first_event_by_s: float | None = None

    def __init__(self, inner: Any, owner: CuttingTransport) -> None:
        self._inner = inner
        self._owner = owner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for read in self._inner:
            self._owner.reads -= 1
            if self._owner.reads < 0:
                await self._inner.aclose()
                raise stream_broken("network", "the connection broke")
            yield read

    async def aclose(self) -> None:
        await self._inner.aclose()


def agent_for(
    dialect: str,
    transport: Any,
    bench: Bench,
    limits: RunLimits = DEFAULT_RUN_LIMITS,
    **options: Any,
) -> Agent:
    return Agent(
        MODELS[dialect],
        transport=transport,
        api_key="k",
        tools=bench.tools(),
        limits=limits,
        policy=NEVER,
        **options,
    )


def clock() -> Callable[[], float]:
    """The loop's own time, in milliseconds."""
    return lambda: asyncio.get_running_loop().time() * 1000


# --- what must hold --------------------------------------------------------------------


def check_run(run: Run, dialect: str, *, is_rewritten: bool = False) -> None:
    """The promises about a run that is over, however it ended."""
    records = run.records_so_far
    check_order(records, is_rewritten=is_rewritten)
    assert run.message == fold(records)
    assert run.result.message == run.message
    check_answered(records)
    check_next_request(run.messages, dialect)


def check_order(records: list[Record], *, is_rewritten: bool = False) -> None:
    """One start, one end, steps around turns, turns legal, numbers without gaps."""
    events = [record.event for record in records]
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [r.at_ms for r in records] == sorted(r.at_ms for r in records)
    assert isinstance(events[0], ev.RunStarted)
    assert sum(isinstance(event, ev.RunStarted) for event in events) == 1
    assert isinstance(events[-1], TERMINALS)
    assert sum(isinstance(event, TERMINALS) for event in events) == 1
    _check_steps(records)
    for turn_events in turns_of(events):
        check_grammar(turn_events, is_rewritten=is_rewritten)


def _check_steps(records: list[Record]) -> None:
    step: int | None = None
    for record in records:
        event = record.event
        if isinstance(event, ev.StepStarted):
            assert step is None
            step = event.step
        elif isinstance(event, ev.StepFinished):
            assert step == event.step
            step = None
        elif not isinstance(
            event, (ev.RunStarted, ev.HistoryCompacted, ev.OutputProduced, *TERMINALS)
        ):
            assert step == record.step, f"{event} outside of its step"
    assert step is None, "a step was left open"


def turns_of(events: list[Any]) -> list[list[Any]]:
    """The turn events, turn by turn."""
    turns: list[list[Any]] = []
    for event in events:
        if isinstance(event, ev.TurnStarted):
            turns.append([])
        if isinstance(event, ev.TurnEvent):
            turns[-1].append(event)
    return turns


def check_answered(records: list[Record]) -> None:
    """Every call of ours has exactly one result, none comes from nowhere, in call order."""
    message = fold(records)
    for one in message.turns:
        ours = [c for c in one.parts if isinstance(c, CallPart) and c.executor == "client"]
        assert [result.call_id for result in one.results] == [c.call_id for c in ours]
    results = [r.event.call_id for r in records if isinstance(r.event, ev.ToolResult)]
    assert len(results) == len(set(results))


def check_next_request(messages: list[Message], dialect: str) -> None:
    """The history is one that the provider takes."""
    model = model_for(
        MODELS[dialect], api_key="k", transport=ScriptedTransport([], dialect=dialect)
    )
    asked = Message(role="user", content=(TextContent("Go on."),))
    request = Request(
        model=model.endpoint.model,
        provider=model.endpoint.provider.name,
        messages=(*messages, asked),
        tools=(),
    )
    accepts(dialect, msgspec.json.decode(model.call(request).body))

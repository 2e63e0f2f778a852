"""Four runs, disturbed in five ways at every event, in three dialects: there is one end, nothing
is left running, and the next request is one that the provider takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Middleware, Run, RunLimits, RunView, ToolCall
from headrace.engine.limits import DEFAULT_RUN_LIMITS
from headrace.events import Record
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.transport import ScriptedTransport
from tests.engine.play import (
    MODELS,
    PACE_S,
    RUNS,
    Bench,
    CuttingTransport,
    agent_for,
    check_run,
    clock,
)


async def _read(run: Run, until: int | None = None) -> list[Record]:
    seen: list[Record] = []
    if until == 0:
        return seen
    async for record in run.records():
        seen.append(record)
        if len(seen) == until:
            break
    return seen


class SlowSink:
    """A log that takes its time."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    async def append(self, records: Sequence[Record]) -> None:
        await asyncio.sleep(0.3)
        self.records += records


class Waiting(Middleware):
    """Every hook waits, so that an end may come in the middle of each."""

    async def on_event(self, run: RunView, record: Record) -> None:
        await asyncio.sleep(0.1)

    async def rewrite_event(self, run: RunView, event: ev.Event) -> ev.Event:
        await asyncio.sleep(0.1)
        return event

    async def before_tool(self, run: RunView, call: ToolCall) -> None:
        await asyncio.sleep(0.1)

    async def on_run_end(self, run: RunView, event: ev.RunFinished | ev.RunFailed) -> None:
        await asyncio.sleep(0.1)


class Case:
    """One run of one script in one dialect, dressed or bare."""

    def __init__(self, name: str, dialect: str, dress: str = "bare") -> None:
        self.dialect = dialect
        self.sink = SlowSink() if dress == "slow log" else None
        self.middleware = [Waiting()] if dress == "waiting hooks" else []
        self.transport = ScriptedTransport(RUNS[name](), dialect=dialect)
        self.bench = Bench()

    def _run(self, transport: Any, limits: RunLimits = DEFAULT_RUN_LIMITS) -> Run:
        middleware = self.middleware
        agent = agent_for(self.dialect, transport, self.bench, limits, middleware=middleware)
        return agent.run("Go.", clock=clock(), sink=self.sink)

    def over(self, run: Run) -> Run:
        check_run(run, self.dialect)
        if self.sink is not None:
            assert self.sink.records == run.records_so_far
        assert self.transport.open_streams == 0
        assert self.bench.running == 0
        return run

    def clean(self) -> Run:
        async def main() -> Run:
            async with self._run(self.transport) as run:
                await _read(run)
            return run

        return self.over(run_virtual(main()))

    def cancelled(self, at: int) -> Run:
        async def main() -> Run:
            async with self._run(self.transport) as run:
                await _read(run, at)
                run.cancel()
                await _read(run)
            return run

        return self.over(run_virtual(main()))

    def left(self, at: int) -> Run:
        async def main() -> Run:
            async with self._run(self.transport) as run:
                await _read(run, at)
            return run

        return self.over(run_virtual(main()))

    def timed_out(self, at: int) -> Run:
        limits = RunLimits(run_timeout_s=(at + 0.5) * PACE_S)

        async def main() -> Run:
            async with self._run(self.transport, limits) as run:
                await _read(run)
            return run

        return self.over(run_virtual(main()))

    def cut(self, at: int) -> Run:
        transport = CuttingTransport(self.transport, at)

        async def main() -> Run:
            async with self._run(transport) as run:
                await _read(run)
            return run

        return self.over(run_virtual(main()))

    def crashed(self, at: int) -> Run:
        self.bench.crashes_at = at
        return self.clean()


DISTURBED: dict[str, Callable[[Case, int], Run]] = {
    "cancel": Case.cancelled,
    "left early": Case.left,
    "timeout": Case.timed_out,
    "provider cut": Case.cut,
    "tool crash": Case.crashed,
}


@pytest.mark.parametrize("way", DISTURBED)
def test_any_abort_leaves_a_whole_run(
    way: str, record_property: Callable[[str, object], None]
) -> None:
    count = 0
    for dialect, name in product(MODELS, RUNS):
        whole = Case(name, dialect).clean()
        assert len(whole.records_so_far) <= 60
        for at in _positions(way, whole):
            DISTURBED[way](Case(name, dialect), at)
            count += 1
    record_property("summary", f"aborted runs, {way}: {count}")
    assert count > (400 if way != "tool crash" else 15)


def _positions(way: str, whole: Run) -> range:
    """Before every event and after the last; tools crash at every call."""
    if way == "tool crash":
        return range(1, 1 + sum(isinstance(r.event, ev.ToolStarted) for r in whole.records_so_far))
    return range(len(whole.records_so_far) + 1)


@pytest.mark.parametrize("dress", ["slow log", "waiting hooks"])
@pytest.mark.parametrize("way", ["cancel", "left early", "timeout"])
def test_any_abort_leaves_a_whole_run_also_where_writing_takes_time(
    way: str, dress: str, record_property: Callable[[str, object], None]
) -> None:
    count = 0
    for name in RUNS:
        whole = Case(name, "anthropic", dress).clean()
        for at in _positions(way, whole):
            DISTURBED[way](Case(name, "anthropic", dress), at)
            count += 1
    record_property("summary", f"aborted runs, {way}, {dress}: {count}")
    assert count > 100

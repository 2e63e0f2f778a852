"""A run that is played from records. The server treats it like any other run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Self, cast

import msgspec

from headrace import events as ev
from headrace.engine import Agent, Run
from headrace.engine.journal.sink import Sink
from headrace.events import Event, Record
from headrace.messages import Message, MessageLike, fold
from headrace.outcome import abort_reason
from headrace.usage import Usage

_End = ev.RunFinished | ev.RunFailed
_CUT = ev.RunFailed(category="incomplete", message="the run had not ended when this was taken")


class ReplayAgent(Agent):
    """Answers every question with the same records, at their original times.

    It waits for `curtain`, so that a client that connects late misses nothing.
    """

    def __init__(
        self, name: str, records: Sequence[Record], speed: float | None, curtain: asyncio.Event
    ) -> None:
        super().__init__(f"replay:{name}")
        self._records = whole_run(records)
        self._speed = speed
        self._curtain = curtain

    def run(self, input: Any, history: Sequence[MessageLike] = (), **options: Any) -> Run:
        """Create the run."""
        run_id, sink = options.get("run_id") or "", options.get("sink")
        return cast("Run", ReplayRun(self._records, run_id, self._speed, self._curtain, sink))


class ReplayRun:
    """The part of a run's interface that the server uses."""

    hides_address = False
    private_error: str | None = None
    is_suspended = False
    is_resumable = False

    def __init__(
        self,
        records: Sequence[Record],
        run_id: str,
        speed: float | None,
        curtain: asyncio.Event,
        sink: Sink | None,
    ) -> None:
        self.records_so_far: list[Record] = []
        self._script = records
        self._run_id = run_id
        self._speed = speed
        self._curtain = curtain
        self._sink = sink
        self._take: Callable[[list[Record]], None] = lambda records: None
        self._task: asyncio.Task[None] | None = None
        self._stop: _End | None = None

    def steer(self, *content: object, **_: object) -> None:
        """Ignore what is said: the records do not change."""

    def hand_to(self, take: Callable[[list[Record]], None]) -> None:
        """Set the receiver of the records."""
        self._take = take

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._play(), name="replay")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel("the caller left the run")
        await self.wait()

    async def wait(self) -> None:
        """Wait until the replay has ended or was stopped."""
        assert self._task is not None
        await asyncio.wait({self._task})

    def cancel(
        self, detail: str = "cancelled", *, by: str | None = None, entry_id: str | None = None
    ) -> None:
        """Cancel the run."""
        self._end(ev.RunFinished(abort_reason("cancelled", detail)))

    def interrupt(self, why: str, *, max_closing_s: float | None = None) -> None:
        """End the run as failed."""
        self._end(ev.RunFailed(category="interrupted", message=why))

    @property
    def message(self) -> Message:
        """The answer so far."""
        return fold(self.records_so_far)

    def _end(self, event: _End) -> None:
        if self._task is not None and not self._task.done() and self._stop is None:
            self._stop = event
            self._task.cancel()

    async def _play(self) -> None:
        try:
            await self._curtain.wait()
            await self._play_all()
        except asyncio.CancelledError:
            if self._stop is None or _is_over(self.records_so_far):
                raise
            last = self.records_so_far[-1] if self.records_so_far else Record(0, _now_ms(), _CUT)
            await self._write([Record(last.seq + 1, last.at_ms, self._stop)])

    async def _play_all(self) -> None:
        loop = asyncio.get_running_loop()
        records = _shift(self._script, self._run_id, _now_ms())
        started_s, first_ms = loop.time(), records[0].at_ms
        for at_ms, batch in groupby(records, attrgetter("at_ms")):
            if self._speed is not None:
                due_s = started_s + (at_ms - first_ms) / 1000 / self._speed
                await asyncio.sleep(max(due_s - loop.time(), 0.0))
            await self._write(list(batch))

    async def _write(self, batch: list[Record]) -> None:
        # Shielded: a batch that is being written is completed even if the run is stopped.
        await asyncio.shield(self._append(batch))

    async def _append(self, batch: list[Record]) -> None:
        if self._sink is not None:
            await self._sink.append(batch)
        self.records_so_far += batch
        self._take(batch)


def whole_run(records: Sequence[Record]) -> list[Record]:
    """Return the records of a whole run.

    A single stream becomes one step, records of the server are removed, and an unfinished run gets
    an end.
    """
    kept = [record for record in records if not isinstance(record.event, ev.RunClosed)]
    if not kept:
        return _number([(0, _CUT, (), 0)])
    if not isinstance(kept[0].event, ev.RunStarted):
        return _number(_as_step(kept))
    rows = [(record.at_ms, record.event, record.path, record.step) for record in kept]
    if not _is_over(kept):
        rows.append((kept[-1].at_ms, _CUT, (), kept[-1].step))
    return _number(rows)


def _is_over(records: Sequence[Record]) -> bool:
    return any(isinstance(record.event, _End) and not record.path for record in records)


_Row = tuple[int, Any, tuple[str, ...], int]


def _as_step(records: Sequence[Record]) -> list[_Row]:
    first, last = records[0].at_ms, records[-1].at_ms
    rows: list[_Row] = [(first, ev.RunStarted(""), (), 0), (first, ev.StepStarted(0), (), 0)]
    rows += [(record.at_ms, record.event, (), 0) for record in records]
    return [*rows, (last, ev.StepFinished(0), (), 0), (last, _end_of(records[-1].event), (), 0)]


def _end_of(event: Any) -> Event:
    match event:
        case ev.TurnFinished():
            return ev.RunFinished(event.reason, event.usage)
        case ev.TurnFailed():
            return ev.RunFailed(category=event.category, message=event.message, usage=event.usage)
        case _:
            return ev.RunFailed(category="incomplete", message=_CUT.message, usage=Usage())


def _number(rows: Sequence[_Row]) -> list[Record]:
    return [Record(seq, *row) for seq, row in enumerate(rows, 1)]


def _now_ms() -> int:
    return int(time.time() * 1000)


def _shift(records: Sequence[Record], run_id: str, now_ms: int) -> list[Record]:
    """Return the run with another id and a new start; durations stay the same."""
    by_ms = now_ms - records[0].at_ms
    moved = [msgspec.structs.replace(record, at_ms=record.at_ms + by_ms) for record in records]
    first = moved[0].event
    if isinstance(first, ev.RunStarted):
        started = msgspec.structs.replace(first, run_id=run_id)
        moved[0] = msgspec.structs.replace(moved[0], event=started)
    return moved

"""The journal of a run: every event passes here once, and is rewritten, stamped, logged,
observed, kept and handed over, in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.guard import Guard
from headrace.engine.middleware.middleware import RunView
from headrace.engine.outbox import Outbox
from headrace.engine.terminate import Terminate
from headrace.errors import HeadraceError
from headrace.events import Event, Record, Stamp
from headrace.messages import Assembler


class SinkFailed(HeadraceError):
    """The log could not take a record; the run ends as `storage`."""


class Sink(Protocol):
    """A log. A record is shown to nobody before it is there."""

    async def append(self, records: Sequence[Record]) -> None:
        """Keep these, in order."""
        ...


class Journal:
    """What a run has written so far."""

    def __init__(
        self, view: RunView, chain: Chain, clock: Callable[[], float], sink: Sink | None
    ) -> None:
        self.records: list[Record] = []
        self.assembler = Assembler()
        self.outbox = Outbox()
        self._view = view
        self._chain = chain
        self._stamp = Stamp(clock)
        self._sink = sink
        self._guard = Guard() if chain.rewriters else None
        self.is_immediate = self._guard is None and sink is None and chain.is_plain
        """Whether nothing has to be waited for: `put` may be used."""
        self._is_writing = False
        self._interrupted: asyncio.Task[None] | None = None

    def put(self, events: Sequence[Event]) -> bool:
        """Write at once, where `is_immediate`. Returns whether the reader is far behind.
        Raises what middleware raises, after the events have been written."""
        if len(events) != 1:
            return self._kept(self._stamp.feed(events, step=self._view.step))
        # One event a read is the rule: the short way for it.
        record = self._stamp.one(events[0], self._view.step)
        self.records.append(record)
        self.assembler.feed(record)
        is_full = self.outbox.put_one(record)
        if self._chain.observers:
            self._chain.notify(self._view, record)
        return is_full

    def _kept(self, records: list[Record]) -> bool:
        self.records += records
        feed = self.assembler.feed
        for record in records:
            feed(record)
        is_full = self.outbox.put(records)
        if self._chain.is_plain and self._chain.observers:
            self._chain.notify(self._view, *records)
        return is_full

    async def write(self, events: Sequence[Event]) -> None:
        """Write what has happened at one moment, whole: an interruption waits for it. Raises
        what middleware raises, after the events have been written."""
        self._is_writing = True
        try:
            await self._write(events)
        finally:
            self._is_writing = False
            if self._interrupted is not None:
                self._interrupted.cancel()
                self._interrupted = None
        if self.outbox.is_full:
            await self.outbox.has_room()

    async def _write(self, events: Sequence[Event]) -> None:
        failure: HeadraceError | None = None
        if self._guard is not None:
            events, failure = await self._rewritten(events, self._guard)
        try:
            if events:
                await self._written(events)
        except (MiddlewareFailed, Terminate) as failed:
            failure = failure or failed
        if failure is not None:
            raise failure

    async def _written(self, events: Sequence[Event]) -> None:
        if self.is_immediate:
            self.put(events)
            return
        records = self._stamp.feed(events, step=self._view.step)
        failure = await self._logged(records)
        self._kept(records)
        if failure is not None:
            raise failure
        if not self._chain.is_plain:
            await self._chain.observe(self._view, records)

    async def _logged(self, records: list[Record]) -> SinkFailed | None:
        """Append to the log. One that fails is not asked again: the run ends, and its end is
        told to those who watch."""
        sink = self._sink
        if sink is None:
            return None
        try:
            await sink.append(records)
        except Exception as error:  # noqa: BLE001 (a log is foreign, and every failure ends the run)
            self._sink = None
            failed = SinkFailed(f"the log failed: {type(error).__name__}: {error}")
            failed.__cause__ = error
            return failed
        return None

    def interrupt(self, task: asyncio.Task[None]) -> None:
        """Cancel the task that writes here, but not in the middle of a write: what the
        model has said would be lost between its decoder and the log."""
        if self._is_writing:
            self._interrupted = task
        else:
            task.cancel()

    async def _rewritten(
        self, events: Sequence[Event], guard: Guard
    ) -> tuple[list[Event], HeadraceError | None]:
        """The events as middleware wants them, and its first failure. What it failed to
        rewrite is left out, but for the bones of the run: it may have been a secret."""
        made: list[Event] = []
        failure: HeadraceError | None = None
        for event in events:
            rewritten: list[Event] = []
            try:
                rewritten = await self._chain.rewrite(self._view, event)
            except (MiddlewareFailed, Terminate) as failed:
                failure = failure or failed
            made += guard.feed(event, rewritten)
        return made, failure

"""Records on their way to a log that is not waited for, one by one. They are told when the log
has them, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from headrace.engine.journal.run_log import Book
from headrace.engine.journal.sink import PromptSink, SinkFailed
from headrace.engine.middleware.middleware import RunView
from headrace.events import Event, Record, RunFailed, RunFinished, Stamp
from headrace.secrets.scrub import scrub

# How far the log may be behind before a run waits for it.
_MAX_AFLOAT = 256


class PendingLog:
    """The way of a run's events to its log, and then into its book."""

    __slots__ = (
        "_book", "_broken", "_count", "_is_lost", "_landing", "_sink", "_stamp", "_view",
        "on_broken",
    )  # fmt: skip

    def __init__(self, sink: PromptSink, stamp: Stamp, view: RunView, book: Book) -> None:
        self.on_broken: Callable[[], None] | None = None
        """Called when the log fails."""
        self._sink = sink
        self._stamp = stamp
        self._view = view
        self._book = book
        self._count = 0
        self._is_lost = False
        self._broken: SinkFailed | None = None
        self._landing: asyncio.Future[None] | None = None

    def put(self, events: Sequence[Event]) -> bool:
        """Hand over; returns whether the reader, or the log, is far behind. After a log has
        failed nothing is told but how the run ended."""
        if self._is_lost:
            ends = [e for e in events if isinstance(e, RunFinished | RunFailed)]
            self._book.add(self._stamp.feed(ends, step=self._view.step))
            return True
        records = self._stamp.feed(events, step=self._view.step)
        self._count += len(records)
        self._sink.put(records, partial(self._land, records))
        return self._count > _MAX_AFLOAT or self._book.outbox.is_full

    @property
    def is_behind(self) -> bool:
        """Whether the log is to be waited for: it is far behind, or has failed."""
        return self._count > _MAX_AFLOAT or self._broken is not None

    async def landed(self) -> None:
        """Wait until the log has all. Raises `SinkFailed` where it has not, once."""
        while self._count:
            self._landing = asyncio.get_running_loop().create_future()
            await self._landing
        broken, self._broken = self._broken, None
        if broken is not None:
            raise broken

    async def settle(self, within_s: float) -> None:
        """Wait for the log, but not for ever: what it has not by then is given up."""
        if not self._count:
            return
        try:
            async with asyncio.timeout(within_s):
                await self.landed()
        except SinkFailed:
            pass  # told by the run's end
        except TimeoutError:
            self._lose()

    def _land(self, records: list[Record], error: Exception | None) -> None:
        """The log has these, or never will."""
        if self._is_lost:
            return
        if error is None:
            self._count -= len(records)
            self._book.add(records)
        else:
            self._lose()
            why = scrub(f"{type(error).__name__}: {error}")
            self._broken = SinkFailed(f"the log failed: {why}")
            if self.on_broken is not None:
                self.on_broken()
        landing = self._landing
        if landing is not None and not self._count and not landing.done():
            landing.set_result(None)

    def _lose(self) -> None:
        """What the log has not kept by now was never shown."""
        self._is_lost = True
        self._stamp.take_back(self._count)
        self._count = 0

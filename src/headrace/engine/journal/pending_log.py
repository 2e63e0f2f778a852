"""The log step for a `PromptSink`: records wait here until the log has stored them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from headrace.engine.journal.run_log import RunLog
from headrace.engine.journal.sink import PromptSink, SinkFailed
from headrace.engine.middleware.middleware import RunView
from headrace.errors import HeadraceError
from headrace.events import Event, Record, RunFailed, RunFinished, Stamp
from headrace.wire.decoder import ReadResult

# How many records may be pending before the run waits for the log.
_MAX_PENDING = 256


class PendingLog:
    """Stamps events, passes the records to the sink, and adds them to the run log when the sink
    has stored them."""

    __slots__ = (
        "_count", "_error", "_has_failed", "_hook_error", "_run_log", "_sink", "_stamp", "_view",
        "_waiter", "failure", "on_error",
    )  # fmt: skip

    def __init__(self, sink: PromptSink, stamp: Stamp, view: RunView, run_log: RunLog) -> None:
        self.on_error: Callable[[], None] | None = None
        """Called when the log fails."""
        self.failure: SinkFailed | None = None
        """Why the log has failed, until the end of the run."""
        self._sink = sink
        self._stamp = stamp
        self._view = view
        self._run_log = run_log
        self._count = 0
        self._has_failed = False
        self._error: SinkFailed | None = None
        # Passive middleware must not raise; if it does, the run ends at the next `flush()`.
        self._hook_error: HeadraceError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, events: Sequence[Event]) -> bool:
        """Pass events of the run itself to the log. Returns whether the reader or the log is far
        behind. After the log has failed, only terminal events are shown."""
        if len(events) == 1:
            return self._put_one(events[0])
        return self.put_nested(events, (), self._view.step)

    def put_read(self, events: ReadResult) -> bool:
        """Do the same as `put()`; a delta may come without a list."""
        if isinstance(events, list):
            return self.put(events)
        return self._put_one(events)

    def _put_one(self, event: Event) -> bool:
        if self._has_failed:
            return self.put_nested([event], (), self._view.step)
        records = [self._stamp.one(event, self._view.step)]
        self._count += 1
        self._sink.put(records, partial(self._confirm, records))
        return self._count > _MAX_PENDING or self._run_log.queue.is_full

    def put_nested(self, events: Sequence[Event], path: tuple[str, ...], step: int) -> bool:
        """Pass events of a nested run to the log, as `put()` does."""
        if self._has_failed:
            ends = [e for e in events if isinstance(e, RunFinished | RunFailed)]
            self._run_log.add(self._stamp.feed(ends, path=path, step=step))
            return True
        records = self._stamp.feed(events, path=path, step=step)
        self._count += len(records)
        self._sink.put(records, partial(self._confirm, records))
        return self._count > _MAX_PENDING or self._run_log.queue.is_full

    @property
    def is_behind(self) -> bool:
        """Whether the run must wait for the log: it is far behind, or has failed."""
        return self._count > _MAX_PENDING or self._error is not None

    @property
    def is_shared(self) -> bool:
        """Whether other processes may claim the run: what a record announces must not begin before
        the record is stored."""
        return self._sink.is_shared

    async def flush(self) -> None:
        """Wait until the log has stored everything. Raises `SinkFailed` once if it failed, or what
        middleware has raised."""
        while self._count:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        error = self._error or self._hook_error
        self._error = self._hook_error = None
        if error is not None:
            raise error

    async def settle(self, within_s: float) -> None:
        """Wait for the log for a limited time, then give up what it has not stored."""
        if not self._count:
            return
        try:
            async with asyncio.timeout(within_s):
                await self.flush()
        except SinkFailed:
            pass  # the end of the run reports it
        except TimeoutError:
            self._discard()

    def _confirm(self, records: list[Record], error: Exception | None) -> None:
        """Called by the sink: the records are stored, or never will be."""
        if self._has_failed:
            return
        if error is None:
            self._count -= len(records)
            try:
                self._run_log.add(records)
            except HeadraceError as raised:
                self._hook_error = self._hook_error or raised
        else:
            self._discard()
            self._error = self.failure = SinkFailed.because(error)
            if self.on_error is not None:
                self.on_error()
        waiter = self._waiter
        if waiter is not None and not self._count and not waiter.done():
            waiter.set_result(None)

    def _discard(self) -> None:
        """Drop the pending records, which were never shown, and take back their numbers."""
        self._has_failed = True
        self._stamp.take_back(self._count)
        self._count = 0

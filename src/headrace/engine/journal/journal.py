"""`Journal`: the way of every event of a run through rewrite, stamp and log to the `RunLog`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from headrace.engine.journal.pending_log import PendingLog
from headrace.engine.journal.run_log import RunLog
from headrace.engine.journal.sink import PromptSink, Sink, SinkFailed
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.guard.guard import Guard
from headrace.engine.middleware.middleware import RunView
from headrace.errors import HeadraceError, Terminate
from headrace.events import Event, Record, RunFailed, RunFinished, Stamp


class Journal:
    """Writes the events of a run. See the package docstring for the order of the steps."""

    def __init__(
        self, view: RunView, chain: Chain, clock: Callable[[], float], sink: Sink | None
    ) -> None:
        self.log = RunLog(view, chain)
        self.records = self.log.records
        self.assembler = self.log.assembler
        self.queue = self.log.queue
        self._view = view
        self._chain = chain
        self._stamp = Stamp(clock)
        self._sink = sink
        self._guard = Guard() if chain.rewriters else None
        self._pending: PendingLog | None = None
        if self._guard is None and not chain.observers and isinstance(sink, PromptSink):
            self._pending = PendingLog(sink, self._stamp, view, self.log)
        is_free = self._guard is None and sink is None and chain.is_plain
        self.is_immediate = is_free or self._pending is not None
        """Whether no step has to be awaited: `put` may be used."""
        # Nearly every event takes the short path in `put`: these are looked up once, not per event.
        self._stamp_one = self._stamp.one
        self._keep_one = self.records.append
        self._fold_one = self.assembler.feed
        self._hand_over = self.queue.put_one
        self._observers = chain.observers
        self._notify = chain.notify
        self._writing: asyncio.Task[None] | None = None
        self._is_log_lost = False
        # The batch that is being rewritten: the results so far, and the events that are left.
        self._rewritten: list[Event] = []
        self._unwritten: list[Event] = []
        # How many records are being logged.
        self._logging = 0
        self._is_censoring = False

    @property
    def is_over(self) -> bool:
        """Whether the terminal record has been written."""
        return bool(self.records) and isinstance(self.records[-1].event, RunFinished | RunFailed)

    # -- writing

    def put(self, events: Sequence[Event]) -> bool:
        """Write events without waiting, if `is_immediate`. Returns whether the reader or the log
        is far behind: then await `wait_for_room()`. Raises what middleware raises, after the
        events have been written."""
        if self._pending is not None:
            return self._pending.put(events)
        if len(events) != 1 or not self.log.keeps_records:
            return self.log.add(self._stamp.feed(events, step=self._view.step))
        # Most reads give one event, so this case has a short path.
        record = self._stamp_one(events[0], self._view.step)
        self._keep_one(record)
        self._fold_one(record)
        is_full = self._hand_over(record)
        if self._observers:
            self._notify(self._view, record)
        return is_full

    async def write(self, events: Sequence[Event], *, is_rewritten: bool = False) -> None:
        """Write events as one batch, and finish it even if the caller is cancelled: nothing that
        the model said may be lost between its decoder and the log. Raises what middleware
        raises, after the events have been written."""
        if not events:
            return
        if self.is_immediate:
            self.put(events)
            await self.flush()
        else:
            work = self._write(events, is_rewritten=is_rewritten)
            self._writing = asyncio.ensure_future(work)
            await asyncio.shield(self._writing)
        if self.queue.is_full:
            await self.queue.wait_for_room()

    async def wait_for_room(self) -> None:
        """Wait until more events may be `put`. Raises `SinkFailed` if the log has failed."""
        if self._pending is not None and self._pending.is_behind:
            await self._pending.flush()
        await self.queue.wait_for_room()

    async def flush(self) -> None:
        """Wait until the log has all events that were `put`. Raises `SinkFailed`."""
        if self._pending is not None:
            await self._pending.flush()

    @contextmanager
    def on_log_error(self, callback: Callable[[], None]) -> Generator[None, None, None]:
        """Call the callback if the log fails while the block runs."""
        if self._pending is not None:
            self._pending.on_error = callback
        try:
            yield
        finally:
            # The callback may reference the journal: do not leave a cycle behind.
            if self._pending is not None:
                self._pending.on_error = None

    async def settle(self, within_s: float) -> None:
        """Wait a limited time for a write that is still going on, then give it up: middleware
        and the log are not called any more, so that the run can end."""
        if self._pending is not None:
            await self._pending.settle(within_s)
        writing, self._writing = self._writing, None
        if writing is None or writing.done():
            return
        await asyncio.wait({writing}, timeout=within_s)
        if not writing.done():
            writing.cancel()
            self._give_up()

    def _give_up(self) -> None:
        """Detach middleware and the log. What was rewritten of the current batch is written, and
        of the rest only placeholders; records that hang in the log were never shown."""
        self._sink, self._chain, self._observers = None, Chain(()), ()
        self.log.detach_observers()
        self.is_immediate = self._guard is None and not self._logging
        if self._logging:
            self._stamp.take_back(self._logging)
            self._is_log_lost = True
        elif self._guard is not None:
            events, self._rewritten = self._rewritten, []
            rest, self._unwritten = self._unwritten, []
            self._is_censoring = True
            for event in rest:
                events += self._guard.censor(event)
            self.log.add(self._stamp.feed(events, step=self._view.step))

    def write_last(self, event: RunFinished | RunFailed) -> None:
        """Write a terminal event as a last resort, without middleware and without the log."""
        self.log.add_last(self._stamp.one(event, self._view.step))

    # -- the steps

    async def rewrite_end(self, event: RunFinished | RunFailed) -> RunFinished | RunFailed:
        """Return the terminal event as middleware rewrites it, before it is written."""
        if self._guard is None:
            return event
        events, error = await self._rewrite([event], self._guard)
        if error is not None:
            raise error
        last = events[-1]
        assert isinstance(last, RunFinished | RunFailed)
        return last

    async def _write(self, events: Sequence[Event], *, is_rewritten: bool) -> None:
        first_error: HeadraceError | None = None
        if self._guard is not None and not is_rewritten:
            events, first_error = await self._rewrite(events, self._guard)
        try:
            if events:
                await self._log_and_add(events)
        except (MiddlewareFailed, Terminate, SinkFailed) as error:
            first_error = first_error or error
        if first_error is not None:
            raise first_error

    async def _rewrite(
        self, events: Sequence[Event], guard: Guard
    ) -> tuple[list[Event], HeadraceError | None]:
        """Return the events as middleware rewrites them, and its first error. An event that
        could not be rewritten may hold a secret: a placeholder takes its place if the structure
        of the run needs it."""
        if self._is_censoring:
            return [legal for event in events for legal in guard.censor(event)], None
        self._rewritten, self._unwritten = [], list(events)
        first_error: HeadraceError | None = None
        for event in events:
            results, latest, error = await self._chain.rewrite(self._view, event)
            if error is not None and latest is None:
                latest = guard.placeholder(event)
            self._rewritten += guard.feed(event, results, latest)
            del self._unwritten[0]
            first_error = first_error or error
        legal, self._rewritten = self._rewritten, []
        return legal, first_error

    async def _log_and_add(self, events: Sequence[Event]) -> None:
        """Log, then show. After the log has failed, only terminal events are shown."""
        if self._is_log_lost:
            events = [e for e in events if isinstance(e, RunFinished | RunFailed)]
        records = self._stamp.feed(events, step=self._view.step)
        if self._sink is not None:
            self._logging = len(records)
            await self._append(self._sink, records)
            self._logging = 0
        self.log.add(records)
        if not self._chain.is_plain:
            await self._chain.observe(self._view, records)

    async def _append(self, sink: Sink, records: list[Record]) -> None:
        try:
            await sink.append(records)
        except Exception as error:
            self._sink, self._is_log_lost, self._logging = None, True, 0
            self._stamp.take_back(len(records))
            raise SinkFailed.because(error) from error

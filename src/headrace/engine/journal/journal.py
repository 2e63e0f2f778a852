"""`Journal`: the way of every event of a run through rewrite, stamp and log to the `RunLog`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

from headrace.engine.journal.pending_log import PendingLog
from headrace.engine.journal.rewriter import Rewriter
from headrace.engine.journal.run_log import RunLog
from headrace.engine.journal.sink import PromptSink, Sink, SinkFailed
from headrace.engine.journal.turn_writer import TurnWriter
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.middleware import RunView
from headrace.engine.resume.progress import NestedRuns, RunProgress
from headrace.errors import HeadraceError, Terminate
from headrace.events import Event, Record, RunFailed, RunFinished, Stamp, UnknownEvent
from headrace.wire.decoder import ReadResult


class Journal:
    """Writes the events of a run. See the package docstring for the order of the steps."""

    __slots__ = (
        "_chain", "_is_log_lost", "_logging", "_observers", "_pending", "_place", "_rewriter",
        "_sink", "_stamp", "_view", "_writing", "assembler", "is_immediate", "log", "queue",
        "records",
    )  # fmt: skip

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
        self._rewriter = Rewriter(chain, view) if chain.rewriters else None
        self._pending: PendingLog | None = None
        if self._rewriter is None and chain.is_passive and isinstance(sink, PromptSink):
            self._pending = PendingLog(sink, self._stamp, view, self.log)
        is_free = self._rewriter is None and sink is None and chain.is_plain
        self.is_immediate = is_free or self._pending is not None
        """Whether no step has to be awaited: `put` may be used."""
        self._observers = chain.observers
        self._writing: asyncio.Task[None] | None = None
        self._is_log_lost = False
        # The path of the batch that is being written, and its step.
        self._place: tuple[tuple[str, ...], int] = ((), 0)
        # How many records are being logged.
        self._logging = 0

    @property
    def is_over(self) -> bool:
        """Whether the terminal record has been written."""
        return bool(self.records) and isinstance(self.records[-1].event, RunFinished | RunFailed)

    @property
    def last_event(self) -> Event | None:
        """The event that was written last."""
        last = self.records[-1].event if self.records else None
        return None if isinstance(last, UnknownEvent) else last

    @property
    def nested(self) -> NestedRuns:
        """The sub-agents that are running."""
        return self.log.nested

    @property
    def epoch(self) -> int:
        """Number of times that the run has been taken over; it is in every record."""
        return self._stamp.epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._stamp.epoch = epoch

    def restore(self, records: Sequence[Record], progress: RunProgress) -> None:
        """Continue from the records of an earlier process."""
        self.log.restore(records, progress)
        self.assembler = progress.assembler
        self._stamp.continue_after(records[-1])
        if self._rewriter is not None:
            self._rewriter.restore(records)

    async def replay(self, records: Sequence[Record]) -> None:
        """Pass the records of an earlier process to the observers, so that they know what
        happened. They may not end the run for it."""
        if not self._chain.observers:
            return
        self._view.is_replay = True
        try:
            for record in records:
                with suppress(Terminate):
                    await self._chain.observe(self._view, [record])
        finally:
            self._view.is_replay = False

    # -- writing

    def put(self, events: Sequence[Event]) -> bool:
        """Write events without waiting, if `is_immediate`. Returns whether the reader or the log
        is far behind: then await `wait_for_room()`. Raises what middleware raises, after the
        events have been written."""
        if self._pending is not None:
            return self._pending.put(events)
        return self.log.add(self._stamp.feed(events, step=self._view.step))

    def _put_read(self, events: ReadResult) -> bool:
        return self.put(events if isinstance(events, list) else [events])

    def create_writer(self) -> Callable[[ReadResult], bool]:
        """Return a function that does the same as `put()`, for the events of a turn. It also takes
        a delta without a list."""
        if self._pending is not None:
            return self._pending.put_read
        if not self.log.keeps_records:
            return self._put_read
        return TurnWriter(self.log, self._stamp, self._view, self._chain, self.put).put

    async def write(
        self,
        events: Sequence[Event],
        *,
        is_rewritten: bool = False,
        path: tuple[str, ...] | None = None,
        step: int | None = None,
    ) -> None:
        """Write events as one batch, and finish it even if the caller is cancelled: nothing that
        the model said may be lost between its decoder and the log. Raises what middleware
        raises, after the events have been written. `path` and `step` are those of a sub-agent."""
        if not events:
            return
        step = self._view.step if step is None else step
        if self.is_immediate:
            self._put_nested(events, path, step) if path else self.put(events)
            await self.flush()
        else:
            self._place = path or (), step
            work = self._write(events, is_rewritten=is_rewritten)
            self._writing = asyncio.ensure_future(work)
            await asyncio.shield(self._writing)
        if self.queue.is_full:
            await self.queue.wait_for_room()

    async def announce(self, events: Sequence[Event]) -> None:
        """Write events, and let the work that they announce begin while the log stores them.

        It waits as `write()` does if other processes may claim the run, or if there is middleware,
        which sees an event before the work begins."""
        if self._pending is None or self._observers:
            await self.write(events)
        elif self._pending.put(events) or self._pending.is_shared:
            await self.flush()
            await self.queue.wait_for_room()

    def _put_nested(self, events: Sequence[Event], path: tuple[str, ...], step: int) -> None:
        if self._pending is not None:
            self._pending.put_nested(events, path, step)
        else:
            self.log.add(self._stamp.feed(events, path=path, step=step))

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

    @property
    def log_failure(self) -> SinkFailed | None:
        """Why the log has failed while records were pending, or None."""
        return None if self._pending is None else self._pending.failure

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
        self.is_immediate = self._rewriter is None and not self._logging
        if self._logging:
            self._stamp.take_back(self._logging)
            self._is_log_lost = True
        elif self._rewriter is not None:
            path, step = self._place
            events = self._rewriter.give_up(path)
            self.log.add(self._stamp.feed(events, path=path, step=step))

    def write_last(self, event: RunFinished | RunFailed) -> None:
        """Write a terminal event as a last resort, without middleware and without the log."""
        self.log.add_last(self._stamp.one(event, self._view.step))

    # -- the steps

    async def rewrite_end(self, event: RunFinished | RunFailed) -> RunFinished | RunFailed:
        """Return the terminal event as middleware rewrites it, before it is written."""
        if self._rewriter is None:
            return event
        events, error = await self._rewriter.rewrite([event], ())
        if error is not None:
            raise error
        last = events[-1]
        assert isinstance(last, RunFinished | RunFailed)
        return last

    async def _write(self, events: Sequence[Event], *, is_rewritten: bool) -> None:
        first_error: HeadraceError | None = None
        if self._rewriter is not None and not is_rewritten:
            events, first_error = await self._rewriter.rewrite(events, self._place[0])
        try:
            if events:
                await self._log_and_add(events)
        except (MiddlewareFailed, Terminate, SinkFailed) as error:
            first_error = first_error or error
        if first_error is not None:
            raise first_error

    async def _log_and_add(self, events: Sequence[Event]) -> None:
        """Log, then show. After the log has failed, only terminal events are shown."""
        if self._is_log_lost:
            events = [e for e in events if isinstance(e, RunFinished | RunFailed)]
        path, step = self._place
        records = self._stamp.feed(events, path=path, step=step)
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

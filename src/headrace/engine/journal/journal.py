"""The journal of a run: every event passes here once, and is rewritten, stamped, logged,
kept, handed over and observed, in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from headrace.engine.journal.pending_log import PendingLog
from headrace.engine.journal.run_log import Book
from headrace.engine.journal.sink import PromptSink, Sink, SinkFailed
from headrace.engine.middleware.chain import Chain, MiddlewareFailed
from headrace.engine.middleware.guard import Guard
from headrace.engine.middleware.middleware import RunView
from headrace.errors import HeadraceError, Terminate
from headrace.events import Event, Record, RunFailed, RunFinished, Stamp
from headrace.secrets.scrub import scrub


class Journal:
    """What a run has written so far."""

    def __init__(
        self, view: RunView, chain: Chain, clock: Callable[[], float], sink: Sink | None
    ) -> None:
        self.book = Book(view, chain)
        self.records = self.book.records
        self.assembler = self.book.assembler
        self.outbox = self.book.outbox
        self._view = view
        self._chain = chain
        self._stamp = Stamp(clock)
        self._sink = sink
        self._guard = Guard() if chain.rewriters else None
        self._afloat: PendingLog | None = None
        if self._guard is None and not chain.observers and isinstance(sink, PromptSink):
            self._afloat = PendingLog(sink, self._stamp, view, self.book)
        is_free = self._guard is None and sink is None and chain.is_plain
        self.is_immediate = is_free or self._afloat is not None
        """Whether nothing has to be waited for: `put` may be used."""
        # The way of nearly every event: looked up once, not four times for each.
        self._stamp_one = self._stamp.one
        self._keep_one = self.records.append
        self._fold_one = self.assembler.feed
        self._hand_over = self.outbox.put_one
        self._observers = chain.observers
        self._notify = chain.notify
        self._writing: asyncio.Task[None] | None = None
        self._is_unlogged = False
        # Of the batch that is being written: what was made of it, what was not, and how many
        # records are on their way to the log.
        self._made: list[Event] = []
        self._unmade: list[Event] = []
        self._logging = 0
        self._is_withholding = False

    @property
    def is_over(self) -> bool:
        """Whether the terminal record has been written."""
        return bool(self.records) and isinstance(self.records[-1].event, RunFinished | RunFailed)

    # -- writing

    def put(self, events: Sequence[Event]) -> bool:
        """Write at once, where `is_immediate`. Returns whether the reader, or the log, is far
        behind: then wait until it `has_room`. Raises what middleware raises, after the events
        have been written."""
        if self._afloat is not None:
            return self._afloat.put(events)
        if len(events) != 1 or not self.book.keeps_records:
            return self.book.add(self._stamp.feed(events, step=self._view.step))
        # One event a read is the rule: the short way for it.
        record = self._stamp_one(events[0], self._view.step)
        self._keep_one(record)
        self._fold_one(record)
        is_full = self._hand_over(record)
        if self._observers:
            self._notify(self._view, record)
        return is_full

    async def write(self, events: Sequence[Event], *, is_rewritten: bool = False) -> None:
        """Write what has happened at one moment, whole, also where the caller is cancelled
        meanwhile: what the model has said must not be lost between its decoder and the log.
        Raises what middleware raises, after the events have been written."""
        if not events:
            return
        if self.is_immediate:
            self.put(events)
            await self.landed()
        else:
            work = self._write(events, is_rewritten=is_rewritten)
            self._writing = asyncio.ensure_future(work)
            await asyncio.shield(self._writing)
        if self.outbox.is_full:
            await self.outbox.has_room()

    async def has_room(self) -> None:
        """Wait until more may be `put`. Raises `SinkFailed` where the log has failed."""
        if self._afloat is not None and self._afloat.is_behind:
            await self._afloat.landed()
        await self.outbox.has_room()

    async def landed(self) -> None:
        """Wait until the log has all that was `put`. Raises `SinkFailed` where it has not."""
        if self._afloat is not None:
            await self._afloat.landed()

    @contextmanager
    def watched(self, on_broken: Callable[[], None]) -> Generator[None, None, None]:
        """Call somebody when a log to which `put` has written fails."""
        if self._afloat is not None:
            self._afloat.on_broken = on_broken
        try:
            yield
        finally:
            # Whoever is called may hold the journal: it must not hold itself.
            if self._afloat is not None:
                self._afloat.on_broken = None

    async def settle(self, within_s: float) -> None:
        """Wait for a write that goes on. One that takes too long is given up: middleware and
        the log are not asked any more, so that the run can end."""
        if self._afloat is not None:
            await self._afloat.settle(within_s)
        writing, self._writing = self._writing, None
        if writing is None or writing.done():
            return
        await asyncio.wait({writing}, timeout=within_s)
        if not writing.done():
            writing.cancel()
            self._give_up()

    def _give_up(self) -> None:
        """Nobody is asked any more. What rewriters had made of the batch is written, and of
        the rest the bones; what hangs in the log was never shown."""
        self._sink, self._chain, self._observers = None, Chain(()), ()
        self.book.silence()
        self.is_immediate = self._guard is None and not self._logging
        if self._logging:
            self._stamp.take_back(self._logging)
            self._is_unlogged = True
        elif self._guard is not None:
            made, self._made = self._made, []
            rest, self._unmade = self._unmade, []
            self.book.add(self._stamp.feed(made, step=self._view.step))
            self._is_withholding = True
            events = [legal for event in rest for legal in self._withheld(event)]
            self.book.add(self._stamp.feed(events, step=self._view.step))

    def _withheld(self, event: Event) -> list[Event]:
        """An event that nobody rewrites any more: its bones, and nothing that may be secret."""
        assert self._guard is not None
        return self._guard.feed(event, [], self._guard.withheld(event))

    async def rewritten(self, event: RunFinished | RunFailed) -> RunFinished | RunFailed:
        """The terminal event as it will be written, for those who are told before."""
        if self._guard is None:
            return event
        made, failure = await self._rewritten([event], self._guard)
        if failure is not None:
            raise failure
        last = made[-1]
        assert isinstance(last, RunFinished | RunFailed)
        return last

    def write_last(self, event: RunFinished | RunFailed) -> None:
        """The last resort: the end goes to those who watch, past everything that failed."""
        self.book.add_last(self._stamp.one(event, self._view.step))

    # -- the way of an event

    async def _write(self, events: Sequence[Event], *, is_rewritten: bool) -> None:
        failure: HeadraceError | None = None
        if self._guard is not None and not is_rewritten:
            events, failure = await self._rewritten(events, self._guard)
        try:
            if events:
                await self._logged(events)
        except (MiddlewareFailed, Terminate, SinkFailed) as failed:
            failure = failure or failed
        if failure is not None:
            raise failure

    async def _logged(self, events: Sequence[Event]) -> None:
        """Log, then show. After a log has failed nothing is shown but how the run ended."""
        if self._is_unlogged:
            events = [e for e in events if isinstance(e, RunFinished | RunFailed)]
        records = self._stamp.feed(events, step=self._view.step)
        if self._sink is not None:
            self._logging = len(records)
            await self._append(self._sink, records)
            self._logging = 0
        self.book.add(records)
        if not self._chain.is_plain:
            await self._chain.observe(self._view, records)

    async def _append(self, sink: Sink, records: list[Record]) -> None:
        try:
            await sink.append(records)
        except Exception as error:
            self._sink, self._is_unlogged, self._logging = None, True, 0
            self._stamp.take_back(len(records))
            why = scrub(f"{type(error).__name__}: {error}")
            raise SinkFailed(f"the log failed: {why}") from error

    async def _rewritten(
        self, events: Sequence[Event], guard: Guard
    ) -> tuple[list[Event], HeadraceError | None]:
        """The events as middleware wants them, and its first failure. What it failed to
        rewrite is left out, but for the bones of the run: it may have been a secret."""
        if self._is_withholding:
            return [legal for event in events for legal in self._withheld(event)], None
        self._made, self._unmade = [], list(events)
        first: HeadraceError | None = None
        for event in events:
            rewritten, last, failure = await self._chain.rewrite(self._view, event)
            if failure is not None and last is None:
                last = guard.withheld(event)
            self._made += guard.feed(event, rewritten, last)
            del self._unmade[0]
            first = first or failure
        made, self._made = self._made, []
        return made, first

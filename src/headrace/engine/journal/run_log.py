"""The steps after a record has been logged: keep, fold, hand over and observe.

The queue between a run and its reader is bounded: a slow reader makes the run wait.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

from headrace.engine.middleware.chain import Chain
from headrace.engine.middleware.middleware import RunView
from headrace.engine.resume.progress import NestedRuns, RunProgress
from headrace.errors import UsageError
from headrace.events import Record
from headrace.messages import Assembler

MAX_WAITING = 1_024


class RunLog:
    """The records of a run in memory, with the message and the queue that they go to."""

    __slots__ = ("_chain", "_view", "assembler", "keeps_records", "nested", "queue", "records")

    def __init__(self, view: RunView, chain: Chain) -> None:
        self.records: list[Record] = []
        self.keeps_records = True
        """Whether `records` has all records, or only the latest."""
        self.assembler = Assembler()
        self.nested = NestedRuns()
        """The progress of sub-agents that are running."""
        self.queue = RecordQueue()
        self._view = view
        self._chain = chain

    def add(self, records: list[Record]) -> bool:
        """Take records that the log has. Returns whether the reader is far behind. Raises what
        middleware raises, after all records have been taken."""
        if not self.keeps_records and len(records) == 1:
            # A server gets nearly all records one by one.
            self.records[:] = records
        else:
            self._keep(records)
        feed = self.assembler.feed
        for record in records:
            feed(record)
        if records and records[0].path:
            # The records of one batch have the same path.
            for record in records:
                self.nested.feed(record)
        is_full = self.queue.put(records)
        if self._chain.is_plain and self._chain.observers:
            self._chain.notify_all(self._view, records)
        return is_full

    def restore(self, records: Sequence[Record], progress: RunProgress) -> None:
        """Continue from the records of an earlier process. They are not passed to the reader."""
        self._keep(list(records))
        self.assembler = progress.assembler
        self.nested = progress.nested

    def add_last(self, record: Record) -> None:
        """Take a terminal record without calling middleware."""
        self._keep([record])
        self.assembler.feed(record)
        self.queue.put_one(record)

    def detach_observers(self) -> None:
        """Call no middleware from now on."""
        self._chain = Chain(())

    def _keep(self, records: list[Record]) -> None:
        if not self.keeps_records and records:
            self.records.clear()
            records = records[-1:]
        self.records += records


class RecordQueue:
    """A queue for one writer and one reader on one event loop."""

    __slots__ = ("_is_closed", "_writer", "max_waiting", "reader", "take", "waiting")

    def __init__(self) -> None:
        self.waiting: list[Record] = []
        """The records that have not been read. After adding to them, wake the `reader`."""
        self._is_closed = False
        self.max_waiting = MAX_WAITING
        """How many records may wait before the run waits for the reader."""
        self.reader: asyncio.Future[None] | None = None
        """What the reader waits for, or None if it does not wait."""
        self._writer: asyncio.Future[None] | None = None
        self.take: Callable[[list[Record]], None] | None = None
        """A callback that gets the records at once, in place of a reader."""

    def put(self, records: list[Record]) -> bool:
        """Add records without waiting. Returns whether the reader is far behind."""
        if self.take is not None:
            self.take(records)
            return False
        waiting = self.waiting
        waiting += records
        if self.reader is not None:
            self.wake_reader()
        return len(waiting) > self.max_waiting

    def put_one(self, record: Record) -> bool:
        """Add a single record without waiting. Returns whether the reader is far behind."""
        if self.take is not None:
            self.take([record])
            return False
        waiting = self.waiting
        waiting.append(record)
        if self.reader is not None:
            self.wake_reader()
        return len(waiting) > self.max_waiting

    def wake_reader(self) -> None:
        """Let the reader take what is waiting."""
        _wake(self.reader)
        self.reader = None

    @property
    def is_full(self) -> bool:
        """Whether the reader is far behind."""
        return len(self.waiting) > self.max_waiting

    async def wait_for_room(self) -> None:
        """Wait until the reader has taken the records."""
        while self.is_full:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer

    async def get(self) -> list[Record]:
        """Take all records, waiting for some. Returns an empty list after the end."""
        if self.reader is not None and not self.reader.done():
            raise UsageError(
                "this run already has a reader: use run.records_so_far, or await run.wait()"
            )
        while not self.waiting and not self._is_closed:
            self.reader = asyncio.get_running_loop().create_future()
            await self.reader
        records, self.waiting = self.waiting, []
        _wake(self._writer)
        return records

    def stop_waiting(self) -> None:
        """Let the run continue however many records are waiting."""
        self.max_waiting = sys.maxsize
        _wake(self._writer)

    def close(self) -> None:
        """End the queue: the reader gets what is left, and the callback is released."""
        self._is_closed = True
        self.take = None
        _wake(self.reader)


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)

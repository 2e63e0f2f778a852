"""Records on their way from the run's task to whoever reads them. Bounded: a slow reader
makes the run wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headrace.errors import UsageError
from headrace.events import Record

MAX_WAITING = 1_024


class RecordQueue:
    """One writer, one reader, in one event loop."""

    def __init__(self) -> None:
        self._waiting: list[Record] = []
        self._is_closed = False
        self._is_unbounded = False
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self.take: Callable[[list[Record]], None] | None = None
        """Who gets the records at once, instead of a reader that waits for them."""

    def put(self, records: list[Record]) -> bool:
        """Hand over; never waits. Returns whether the reader is far behind."""
        if self.take is not None:
            self.take(records)
            return False
        waiting = self._waiting
        waiting += records
        if self._reader is not None:
            _wake(self._reader)
            self._reader = None
        return len(waiting) > MAX_WAITING

    @property
    def is_full(self) -> bool:
        """Whether the reader is far behind."""
        return len(self._waiting) > MAX_WAITING and not self._is_unbounded

    def put_one(self, record: Record) -> bool:
        """`put` for a single record."""
        if self.take is not None:
            self.take([record])
            return False
        waiting = self._waiting
        waiting.append(record)
        if self._reader is not None:
            _wake(self._reader)
            self._reader = None
        return len(waiting) > MAX_WAITING

    async def has_room(self) -> None:
        """Wait until the reader has taken what is there."""
        while self.is_full:
            self._writer = asyncio.get_running_loop().create_future()
            await self._writer

    async def get(self) -> list[Record]:
        """What is there, waiting for something; nothing when it is over."""
        if self._reader is not None and not self._reader.done():
            raise UsageError("somebody reads this run already: use run.records, or run.wait()")
        while not self._waiting and not self._is_closed:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        taken, self._waiting = self._waiting, []
        _wake(self._writer)
        return taken

    def let_go(self) -> None:
        """Nobody reads any more: the run need not wait."""
        self._is_unbounded = True
        _wake(self._writer)

    def close(self) -> None:
        """Nothing comes any more; whoever took it is let go of."""
        self._is_closed = True
        self.take = None
        _wake(self._reader)


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)

"""The frames of one run in one protocol, made once and read by any number of watchers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from headrace.events import Record
from headrace.server.frame import Encoding, FrameId


class Broadcast:
    """Grows while the run goes on. A watcher is nothing but a place in it: one that is slow
    holds up nobody, and costs what its connection buffers."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._frames: list[tuple[FrameId, bytes]] = []
        self._is_closed = False
        self._news: asyncio.Future[None] | None = None

    def feed(self, record: Record) -> None:
        """A record has been logged."""
        self._frames += self._encoding.feed(record)
        self._wake()

    def close(self) -> None:
        """Nothing comes any more."""
        self._is_closed = True
        self._wake()

    async def watch(self, after: FrameId) -> AsyncIterator[list[bytes]]:
        """The frames behind this one: those that are there at once, the others as they come."""
        place = self._behind(after)
        while True:
            fresh = self._frames[place:]
            if fresh:
                place += len(fresh)
                yield [data for _, data in fresh]
            elif self._is_closed:
                return
            else:
                await self._wait()

    def _behind(self, after: FrameId) -> int:
        low, high = 0, len(self._frames)
        while low < high:
            middle = (low + high) // 2
            if self._frames[middle][0] <= after:
                low = middle + 1
            else:
                high = middle
        return low

    async def _wait(self) -> None:
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

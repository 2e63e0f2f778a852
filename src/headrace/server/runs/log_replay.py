"""Frames made again from the log of a run.

The log is read in pages of 64 KB, so that neither a long run nor a client that reads nothing
takes more memory than that, and other clients are served in between.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Self

from headrace.events import Record
from headrace.server.sse import START, FrameEncoder, FrameId, frame_id_of
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import Log

PAGE_BYTES = 65_536
"""Size of a page of records."""


async def read_pages(
    log: Log, run_id: str, until: Callable[[], int] | None = None
) -> AsyncGenerator[list[Record], None]:
    """Read the records of a run page by page, up to the number `until()`, which may grow. Raises
    `StorageFailed` if the log ends before."""
    seq = 0
    while until is None or seq < until():
        records = await log.read(run_id, seq, PAGE_BYTES)
        if until is not None and records and records[-1].seq > until():
            records = [record for record in records if record.seq <= until()]
        if not records:
            if until is None:
                return
            # What is missing may come back; a client that were told nothing would miss it.
            raise StorageFailed(f"the log of run {run_id} ends before record {until()}")
        seq = records[-1].seq
        yield records


class Replay:
    """Iterates once over batches of frames after a given frame; `aclose()` ends it early."""

    def __init__(
        self,
        pages: AsyncGenerator[list[Record], None],
        encoder: FrameEncoder,
        after: FrameId = START,
    ) -> None:
        self._pages = pages
        self._after = after
        self._first: list[bytes] | None = None
        self.encoder = encoder
        """Has been fed all records up to `newest`."""
        self.newest: bytes | None = None
        """The last frame that was made, requested or not."""

    async def start(self) -> None:
        """Read ahead to the first batch, so that `newest` is known if there are frames at all."""
        self._first = await anext(self, None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        async for records in self._pages:
            frames = [frame for record in records for frame in self.encoder.feed(record)]
            if not frames:
                continue
            self.newest = frames[-1]
            if frame_id_of(frames[0]) <= self._after:
                frames = [frame for frame in frames if frame_id_of(frame) > self._after]
            if frames:
                return frames
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading."""
        await self._pages.aclose()

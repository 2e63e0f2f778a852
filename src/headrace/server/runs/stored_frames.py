"""What has been shown already, made again from the log: a page at a time, so that neither a long
run nor a client that reads nothing takes more than that, and others have their turn between."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Self

from headrace.events import Record
from headrace.server.sse import START, Encoding, FrameId, number_of
from headrace.server.storage.log import Log

PAGE_BYTES = 65_536
"""Of records, at a time."""


async def pages(
    log: Log, run_id: str, until: Callable[[], int] | None = None
) -> AsyncGenerator[list[Record], None]:
    """The records of a run, up to a number that may grow meanwhile; else to the end."""
    seq = 0
    while until is None or seq < until():
        records = await log.read(run_id, seq, PAGE_BYTES)
        if until is not None and records and records[-1].seq > until():
            records = [record for record in records if record.seq <= until()]
        if not records:
            return
        seq = records[-1].seq
        yield records


class Past:
    """The frames behind one. Iterate over it once, for batches; `aclose()` to end early."""

    def __init__(
        self,
        records: AsyncGenerator[list[Record], None],
        encoding: Encoding,
        after: FrameId = START,
    ) -> None:
        self._records = records
        self._encoding = encoding
        self._after = after
        self.newest: bytes | None = None
        """The last frame that was made, whether it was asked for or not."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[bytes]:
        async for records in self._records:
            frames = [frame for record in records for frame in self._encoding.feed(record)]
            if not frames:
                continue
            self.newest = frames[-1]
            if number_of(frames[0]) <= self._after:
                frames = [frame for frame in frames if number_of(frame) > self._after]
            if frames:
                return frames
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Read no further."""
        await self._records.aclose()

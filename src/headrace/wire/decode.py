"""Functions that decode the reads of one turn into records, synchronous and asynchronous."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from headrace.events import Record, Stamp
from headrace.events.stamp import create_wall_clock
from headrace.wire.decoder import Decoder


def decode(
    reads: Iterable[bytes],
    dialect: str | None = None,
    *,
    clock: Callable[[], float] | None = None,
    **options: Any,
) -> Iterator[Record]:
    """Decode the reads of one turn and yield its records; the last one is terminal.

    `reads` is any iterable of bytes, such as an open file. If `dialect` is None it is detected.
    `clock` returns milliseconds since the epoch; `options` are those of `Decoder`.
    """
    decoder = Decoder(dialect, keeps_message=False, **options)
    stamp = Stamp(clock or create_wall_clock())
    for data in reads:
        if events := decoder.feed(data):
            yield from stamp.feed(events)
    yield from stamp.feed(decoder.close())


async def decode_async(
    reads: AsyncIterable[bytes],
    dialect: str | None = None,
    *,
    clock: Callable[[], float] | None = None,
    **options: Any,
) -> AsyncIterator[Record]:
    """Asynchronous version of `decode()`, for reads from an async iterable."""
    decoder = Decoder(dialect, keeps_message=False, **options)
    stamp = Stamp(clock or create_wall_clock())
    async for data in reads:
        if events := decoder.feed(data):
            for record in stamp.feed(events):
                yield record
    for record in stamp.feed(decoder.close()):
        yield record

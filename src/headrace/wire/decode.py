"""The two skins of the decoder: reads in, records out, waiting or not."""

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
    """The records of one turn, read by read; the last one is terminal.

    `reads` is anything that yields bytes, an open file included. `dialect` None is
    detected; `options` are those of `Decoder`.
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
    """`decode` for reads that are waited for."""
    decoder = Decoder(dialect, keeps_message=False, **options)
    stamp = Stamp(clock or create_wall_clock())
    async for data in reads:
        if events := decoder.feed(data):
            for record in stamp.feed(events):
                yield record
    for record in stamp.feed(decoder.close()):
        yield record

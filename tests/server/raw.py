"""Requests written by hand, byte by byte: what a well-kept client would mend before it sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable
from typing import NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    """What came back."""

    status: int
    head: bytes
    body: bytes


def head(verb: str, target: str | bytes, *lines: str) -> bytes:
    """The start of a request that ends its connection."""
    target = target.encode() if isinstance(target, str) else target
    told = "".join(f"{line}\r\n" for line in ("Host: 127.0.0.1", "Connection: close", *lines))
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (verb.upper().encode(), target, told.encode())


async def send(url: str, pieces: Iterable[bytes] | AsyncIterable[bytes]) -> Answer:
    """Send them, until there is an answer."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    sending = asyncio.ensure_future(_write(writer, pieces))
    data = b""
    try:
        # In pieces: a connection that is cut must not take along what came before.
        while piece := await asyncio.wait_for(reader.read(65_536), 30):
            data += piece
    except ConnectionError:
        pass
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()
    start, _, body = data.partition(b"\r\n\r\n")
    status = int(start.split(b" ", 2)[1]) if start else 0
    return Answer(status, start, body)


async def _write(
    writer: asyncio.StreamWriter, pieces: Iterable[bytes] | AsyncIterable[bytes]
) -> None:
    if isinstance(pieces, AsyncIterable):
        async for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return
    for piece in pieces:
        writer.write(piece)
        await writer.drain()

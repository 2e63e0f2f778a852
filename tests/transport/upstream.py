"""A tiny real server on loopback that does exactly what a test writes: bytes, pauses, cuts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from headrace.transport import HTTPCall

KEY = "sk-CANARY-5d1c0ffee5d1c0ffee"

Answer = Callable[["Peer"], Awaitable[None]]


def halves_of(key: str, data: bytes) -> list[str]:
    """The pieces of a key that stand in the bytes, and are long enough to be of use."""
    pieces = (key[at : at + 8] for at in range(len(key) - 7))
    return [piece for piece in pieces if piece.encode() in data]


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.request = b""
        self.gone = asyncio.Event()

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def wait_gone(self) -> None:
        """Until the client has closed."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass
        self.gone.set()

    def reset(self) -> None:
        self.writer.transport.abort()


def head(
    status: str = "200 OK", kind: str = "text/event-stream", *lines: str, chunked: bool = True
) -> bytes:
    framing = ["Transfer-Encoding: chunked"] if chunked else ["Connection: close"]
    told = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *framing, *lines]
    return ("\r\n".join(told) + "\r\n\r\n").encode()


def whole(status: str, body: bytes, *lines: str, kind: str = "application/json") -> bytes:
    """An answer of a known length."""
    told = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *lines]
    return ("\r\n".join(told) + "\r\n\r\n").encode() + body


def answering(data: bytes) -> Answer:
    """Send these bytes, and close."""

    async def answer(peer: Peer) -> None:
        await peer.send(data)

    return answer


def holding(data: bytes) -> Answer:
    """Send these bytes, and wait for the client to go."""

    async def answer(peer: Peer) -> None:
        await peer.send(data)
        await peer.wait_gone()

    return answer


async def stalling(peer: Peer) -> None:
    """Say nothing at all."""
    await peer.wait_gone()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    start = await reader.readuntil(b"\r\n\r\n")
    lines = start.lower().split(b"\r\n")
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
    return start + await reader.readexactly(length)


@asynccontextmanager
async def upstream(*answers: Answer, ssl: Any = None):
    """A server; each connection gets the next answer, and the last one stays."""
    peers: list[Peer] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        peers.append(peer)
        answer = answers[min(len(peers), len(answers)) - 1]
        try:
            peer.request = await read_request(reader)
            await answer(peer)
        except (ConnectionError, asyncio.IncompleteReadError):
            peer.gone.set()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ssl)
    port = server.sockets[0].getsockname()[1]
    scheme = "https" if ssl else "http"
    try:
        yield SimpleNamespace(url=f"{scheme}://127.0.0.1:{port}/v1/x", peers=peers, port=port)
    finally:
        server.close()
        for peer in peers:
            peer.reset()
        await asyncio.sleep(0)


def call_to(url: str, body: bytes = b'{"model": "m"}') -> HTTPCall:
    headers = {
        "authorization": f"Bearer {KEY}",
        "x-api-key": KEY,
        "content-type": "application/json",
    }
    return HTTPCall(url=url, headers=headers, body=body)


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


END = b"0\r\n\r\n"

"""A stream of frames as an answer: written by hand, since it is the hot path of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress

from starlette.types import Receive, Scope, Send

from headrace.server.frame import HEARTBEAT

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


class EventStream:
    """Sends batches of frames as they come. The watcher leaves when its client does, or when
    it reads nothing for too long; the run goes on."""

    def __init__(
        self,
        frames: AsyncIterator[list[bytes]],
        *,
        heartbeat_s: float,
        send_timeout_s: float,
        headers: list[tuple[bytes, bytes]] | None = None,
    ) -> None:
        self._frames = frames
        self._heartbeat_s = heartbeat_s
        self._send_timeout_s = send_timeout_s
        self._headers = [*_HEADERS, *(headers or [])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        sending = asyncio.ensure_future(self._send_all(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait({sending, leaving})
        if not sending.cancelled():
            sending.result()

    async def _send_all(self, send: Send) -> None:
        # A client that is gone, or does not read, is let go: it can come back.
        with suppress(TimeoutError, OSError):
            async with aclosing(self._with_heartbeats()) as batches:
                async for data in batches:
                    await self._send(send, data, more=True)
            await self._send(send, b"", more=False)

    async def _send(self, send: Send, data: bytes, *, more: bool) -> None:
        async with asyncio.timeout(self._send_timeout_s):
            await send({"type": "http.response.body", "body": data, "more_body": more})

    async def _with_heartbeats(self) -> AsyncGenerator[bytes, None]:
        waiting: asyncio.Task[list[bytes]] | None = None
        try:
            while True:
                if waiting is None:
                    waiting = asyncio.ensure_future(anext(self._frames))
                done, _ = await asyncio.wait({waiting}, timeout=self._heartbeat_s)
                if not done:
                    yield HEARTBEAT
                    continue
                try:
                    batch = waiting.result()
                except StopAsyncIteration:
                    return
                finally:
                    waiting = None
                yield b"".join(batch)
        finally:
            if waiting is not None:
                waiting.cancel()


async def _left(receive: Receive) -> None:
    """Until the client is gone."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return

"""A stream of frames as an answer: written by hand, since it is the hot path of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.server.sse import HEARTBEAT

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
# The server waits for a client that reads nothing when about as much lies in its buffer, so
# with one piece more this is what a client can hold.
_MAX_PIECE_BYTES = 65_536


STREAM = "headrace.stream"
"""Where a request's state has a stream that is to be sent."""


class StreamedResponse(Response):
    """An answer that the gate sends. A stream lasts, and each of the frames in which routing
    called it would last as long: they are left first."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"][STREAM] = self._stream


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
        self._sending_since_s: float | None = None
        self._sent_at_s = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None
        self._is_deaf = False
        self._is_let_go = False
        self._is_over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.current_task()
        assert sending is not None
        leaving: asyncio.Task[None] | None = None
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            leaving = asyncio.ensure_future(_left(receive))
            leaving.add_done_callback(lambda _: self._let_go(sending))
            self._sent_at_s = asyncio.get_running_loop().time()
            self._look(sending, send)
            await self._send_all(send)
        except asyncio.CancelledError:
            # By ourselves, or by the server that stops.
            if not self._is_let_go or sending.uncancel() > 0:
                raise
        finally:
            self._is_over = True
            await self._end(leaving)
        if self._is_deaf:
            await _hang_up(receive)

    def _let_go(self, sending: asyncio.Task[Any]) -> None:
        """Send no more: the client is gone, or reads nothing."""
        if not self._is_over and not self._is_let_go:
            self._is_let_go = True
            sending.cancel()

    async def _end(self, leaving: asyncio.Task[None] | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        ending = [task for task in (leaving, self._beat) if task is not None]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)
        close = getattr(self._frames, "aclose", None)
        if close is not None:
            await close()

    async def _send_all(self, send: Send) -> None:
        # A client that is gone is let go: it can come back.
        with suppress(OSError):
            async for batch in self._frames:
                data = batch[0] if len(batch) == 1 else b"".join(batch)
                # A heartbeat stands between batches, and never between the pieces of one.
                if self._beat is not None:
                    await self._beaten()
                if len(data) <= _MAX_PIECE_BYTES:
                    await self._send(send, data)
                    continue
                for start in range(0, len(data), _MAX_PIECE_BYTES):
                    await self._send(send, data[start : start + _MAX_PIECE_BYTES])
            await self._beaten()
            await self._send(send, b"", more=False)

    async def _beaten(self) -> None:
        """Until a heartbeat that is on its way is out."""
        beat, self._beat = self._beat, None
        if beat is not None:
            await beat

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        time = asyncio.get_running_loop().time
        self._sending_since_s = time()
        await send({"type": "http.response.body", "body": data, "more_body": more})
        self._sending_since_s, self._sent_at_s = None, time()

    def _look(self, sending: asyncio.Task[Any], send: Send) -> None:
        """Whether the client reads, and whether it should hear from us. One timer looks now and
        then: one for each frame would cost as much as sending it."""
        loop = asyncio.get_running_loop()
        now, since = loop.time(), self._sending_since_s
        if since is not None and now >= since + self._send_timeout_s:
            self._is_deaf = True
            self._let_go(sending)
            return
        due = now + min(self._heartbeat_s, self._send_timeout_s)
        if since is not None:
            due = since + self._send_timeout_s
        elif now < self._sent_at_s + self._heartbeat_s:
            due = min(due, self._sent_at_s + self._heartbeat_s)
        else:
            self._beat = asyncio.ensure_future(self._send(send, HEARTBEAT))
        self._watch = loop.call_at(due, self._look, sending, send)


async def _left(receive: Receive) -> None:
    """Until the client is gone."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return


async def _hang_up(receive: Receive) -> None:
    """Drop the connection of a client that does not read. ASGI has no word for that, and a
    server that is left alone with it waits until all has been read: so the server's own
    transport is asked, where there is one (uvicorn, 2026-11-15)."""
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    abort = getattr(transport, "abort", None)
    if abort is not None:
        abort()
        await _left(receive)

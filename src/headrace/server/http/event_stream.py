"""A response that streams frames. It speaks ASGI directly, since it is the server's hot path."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.server.http.direct_writer import DIRECT_BYTES, DirectWriter, find_direct_writer
from headrace.server.runs.broadcast import Subscription
from headrace.server.sse import HEARTBEAT
from headrace.transport.process_pause import find_pause_s

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
# The ASGI server stops reading from us when about as much is in its buffer, so a client that
# reads nothing holds at most twice this size.
MAX_CHUNK_BYTES = 65_536
"""Most bytes that are sent at once."""

STREAM = "headrace.stream"
"""Key of the request state for a stream that `SecurityMiddleware` sends."""


# Pauses between probes of a client that has ended its side of the connection: each is twice as long
# as the one before.
_FIRST_PROBE_S = 0.02
_PROBE_S = 1.0
_STOPPED = b": the access token was revoked\n\n"


class DeferredStream(Response):
    """Hands an `EventStream` to `SecurityMiddleware`, which sends it after routing has returned.

    Sent from inside the router, a long stream would keep all stack frames of the routing alive.
    """

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"][STREAM] = self._stream


class EventStream:
    """Sends batches of frames as they come.

    It ends when the client disconnects, or reads nothing for `send_timeout_s`. The run goes on.
    """

    __slots__ = (
        "_frames", "_headers", "_heartbeat", "_heartbeat_s", "_is_cancelled", "_is_done",
        "_is_stopped", "_is_stuck", "_loop_time", "_on_end", "_probe_s", "_send_message",
        "_send_timeout_s", "_sending", "_sending_since_s", "_sent_at_s", "_timer", "_timer_due_s",
    )  # fmt: skip

    def __init__(
        self,
        frames: AsyncIterator[list[bytes]],
        *,
        heartbeat_s: float,
        send_timeout_s: float,
        headers: list[tuple[bytes, bytes]] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self._frames = frames
        self._heartbeat_s = heartbeat_s
        self._send_timeout_s = send_timeout_s
        self._headers = [*_HEADERS, *(headers or [])]
        self._on_end = on_end
        self._sending: asyncio.Task[Any] | None = None
        self._send_message: Send | None = None
        self._sending_since_s: float | None = None
        self._sent_at_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_s = float("inf")
        self._heartbeat: asyncio.Task[None] | None = None
        self._probe_s: float | None = None
        self._loop_time = time.monotonic
        self._is_stuck = False
        self._is_stopped = False
        self._is_cancelled = False
        self._is_done = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._sending = sending = asyncio.current_task()
        assert sending is not None
        self._send_message = send
        disconnect: asyncio.Task[None] | None = None
        writer: DirectWriter | None = None
        client = _client_of(receive)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            if scope.get("method") == "HEAD":
                await self._send(send, b"", more=False)
                return
            if client is None:
                disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
                disconnect.add_done_callback(lambda _: self._cancel(sending))
            else:
                self._watch(client, receive, sending)
            self._loop_time = asyncio.get_running_loop().time
            self._sent_at_s = self._loop_time()
            self._check_client(sending, send)
            if client is not None and client.has_ended_input:
                self._probe()
            if not self._is_stopped:
                writer = find_direct_writer(scope, receive)
                await self._send_all(send, writer)
        except asyncio.CancelledError:
            # Cancelled by ourselves, or by a server that stops.
            if not self._is_cancelled or sending.uncancel() > 0:
                raise
        finally:
            self._is_done = True
            if writer is not None:
                scope[DIRECT_BYTES] = writer.written_bytes
            if client is not None:
                client.on_half_close = client.on_lost = None
            await self._end(disconnect)
        if self._is_stuck:
            await abort_connection(receive)
        elif self._is_stopped and scope.get("method") != "HEAD":
            await self._send(send, _STOPPED, more=False)

    def _watch(self, client: Any, receive: Receive, sending: asyncio.Task[Any]) -> None:
        """Have the connection call when the client leaves. A task that waits for it, as ASGI
        offers, takes 2 KB per stream."""
        client.on_half_close = self._probe
        client.on_lost = partial(self._cancel, sending)
        cycle: Any = getattr(receive, "__self__", None)
        # As `receive` does: without reading, nobody would notice that the client leaves.
        cycle.flow.resume_reading()
        if cycle.disconnected:
            # Not at once: this task would be cancelled later, even after the end of the stream.
            asyncio.get_running_loop().call_soon(self._cancel, sending)

    def stop(self) -> None:
        """End the response regularly, but before the last frame."""
        self._is_stopped = True
        if self._sending is None:
            return
        # A client that does not read would not get the end either.
        self._is_stuck = self._sending_since_s is not None
        self._cancel(self._sending)

    def _cancel(self, sending: asyncio.Task[Any]) -> None:
        """Stop sending: the client is gone, or reads nothing."""
        if not self._is_done and not self._is_cancelled:
            self._is_cancelled = True
            sending.cancel()

    def _probe(self) -> None:
        """Find out whether a client that sends nothing more still reads.

        One that has closed its socket answers the first bytes with a reset, and the next ones fail.
        """
        if self._is_done or self._sending is None or self._send_message is None:
            return
        self._probe_s = _FIRST_PROBE_S
        self._sent_at_s = float("-inf")
        if self._timer is not None:
            self._timer.cancel()
        self._check_client(self._sending, self._send_message)

    async def _end(self, disconnect: asyncio.Task[None] | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        ending = [task for task in (disconnect, self._heartbeat) if task is not None]
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)
        # These refer to this object, too.
        self._sending, self._send_message = None, None
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()
        close = getattr(self._frames, "aclose", None)
        if close is not None:
            await close()

    async def _send_all(self, send: Send, writer: DirectWriter | None) -> None:
        frames = self._frames
        # The client has disconnected; it can resume.
        with suppress(OSError):
            async for batch in frames:
                await self._send_batch(send, batch)
                if writer is not None and isinstance(frames, Subscription):
                    # Until a client does not read, or something else needs to be awaited.
                    await frames.push_to(partial(self._write, writer))
            await self._finish_heartbeat()
            await self._send(send, b"", more=False)

    def _write(self, writer: DirectWriter, batch: list[bytes]) -> bool:
        """Send a batch at once. Returns False, and sends nothing, if that is not possible."""
        data = batch[0] if len(batch) == 1 else b"".join(batch)
        if len(data) > MAX_CHUNK_BYTES or not writer.write(data):
            return False
        self._sent_at_s = self._loop_time()
        return True

    async def _send_batch(self, send: Send, batch: list[bytes]) -> None:
        if len(batch) == 1:
            data = batch[0]
        else:
            data = b"".join(batch)
            # Otherwise a client that does not read would keep these frames twice.
            batch.clear()
        # A heartbeat may stand between batches, never inside one.
        if self._heartbeat is not None:
            await self._finish_heartbeat()
        if len(data) <= MAX_CHUNK_BYTES:
            await self._send(send, data)
            return
        for start in range(0, len(data), MAX_CHUNK_BYTES):
            await self._send(send, data[start : start + MAX_CHUNK_BYTES])

    async def _finish_heartbeat(self) -> None:
        """Wait until a heartbeat that is being sent is out."""
        beat, self._heartbeat = self._heartbeat, None
        if beat is not None:
            await beat

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        self._sending_since_s = self._loop_time()
        await send({"type": "http.response.body", "body": data, "more_body": more})
        self._sending_since_s, self._sent_at_s = None, self._loop_time()

    def _check_client(self, sending: asyncio.Task[Any], send: Send) -> None:
        """Check whether the client reads, and whether a heartbeat is due.

        One timer runs now and then: a timeout for each frame would cost as much as sending it.
        """
        loop = asyncio.get_running_loop()
        now, since = loop.time(), self._sending_since_s
        heartbeat_s = self._heartbeat_s
        if self._probe_s is not None:
            heartbeat_s = min(heartbeat_s, self._probe_s)
        if since is not None and find_pause_s(now, self._timer_due_s):
            # While this process was stopped, the client could not read.
            self._sending_since_s = since = now
        if since is not None and now >= since + self._send_timeout_s:
            self._is_stuck = True
            self._cancel(sending)
            return
        due = now + min(heartbeat_s, self._send_timeout_s)
        if since is not None:
            due = since + self._send_timeout_s
        elif now < self._sent_at_s + heartbeat_s:
            due = min(due, self._sent_at_s + heartbeat_s)
        else:
            self._heartbeat = asyncio.ensure_future(self._send(send, HEARTBEAT))
            if self._probe_s is not None:
                self._probe_s = min(2 * self._probe_s, _PROBE_S)
        self._timer_due_s = due
        self._timer = loop.call_at(due, self._check_client, sending, send)


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return


async def wait_for_departure(receive: Receive) -> None:
    """Return when the client has disconnected, or has ended its side of the connection.

    For requests whose response has not begun: nothing can be sent that would show whether a client
    that has ended its side still reads, and hardly any does.
    """
    client = _client_of(receive)
    if client is None:
        await wait_for_disconnect(receive)
        return
    has_ended = asyncio.Event()
    if client.has_ended_input:
        has_ended.set()
    client.on_half_close = has_ended.set
    waiting: set[asyncio.Task[Any]] = {
        asyncio.create_task(wait_for_disconnect(receive)),
        asyncio.create_task(has_ended.wait()),
    }
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        client.on_half_close = None
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)


def _client_of(receive: Receive) -> Any:
    """Return the `ClientState` of the connection under uvicorn (2026-11-15), or None."""
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    get_protocol = getattr(transport, "get_protocol", None)
    return None if get_protocol is None else getattr(get_protocol(), "client_state", None)


async def abort_connection(receive: Receive) -> None:
    """Drop the connection of a client that does not read.

    ASGI has no message for this, and the server would wait until everything has been read. So the
    transport of uvicorn (2026-11-15) is used, if there is one.
    """
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    abort = getattr(transport, "abort", None)
    if abort is not None:
        abort()
        await wait_for_disconnect(receive)

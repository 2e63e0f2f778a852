"""`HTTPStream`: the response of one HTTP call, read piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Self, TypeVar

import aiohttp

from headrace.secrets.known import KnownSecrets
from headrace.transport.body.decompression import ENCODINGS, Inflation
from headrace.transport.body.push_protocol import PushProtocol
from headrace.transport.call_log import CallLog
from headrace.transport.error_response import request_id_of
from headrace.transport.limits import HTTPLimits, Timeouts
from headrace.transport.process_pause import find_pause_s
from headrace.transport.stream_error import StreamBroken, reason_of, stream_broken

T = TypeVar("T")


class HTTPStream:
    """A response that is being read. It can be iterated once."""

    __slots__ = (
        "_break", "_content", "_idle_s", "_inflation", "_is_closed", "_log", "_loop",
        "_paused_or_ended", "_pieces", "_protocol", "_response", "_secrets", "_take",
        "_waiting_since_s", "_watch", "_watch_due_s", "first_event_by_s", "request_id",
    )  # fmt: skip

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        secrets: KnownSecrets,
        timeouts: Timeouts,
        limits: HTTPLimits,
        first_event_by_s: float,
    ) -> None:
        request_id = request_id_of(response.headers)
        self.request_id = request_id and secrets.clean(request_id)
        self.first_event_by_s: float | None = first_event_by_s
        self._response = response
        self._content = response.content
        self._secrets = secrets
        self._idle_s = timeouts.idle_s
        self._loop = asyncio.get_running_loop()
        self._waiting_since_s: float | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._watch_due_s = 0.0
        self._is_closed = False
        self._break: StreamBroken | None = None
        encoding, limit = encoding_of(response), limits.max_inflated_bytes
        self._inflation = Inflation(encoding, limit) if encoding in ENCODINGS else None
        self._pieces: Iterator[bytes] = iter(())
        self._log: CallLog | None = None
        self._take: Callable[[bytes], bool] | None = None
        self._paused_or_ended: asyncio.Future[bool] | None = None
        connection = response.connection
        self._protocol = None if connection is None else connection.protocol

    def start_log(self, log: CallLog) -> None:
        """Log that the response has begun, and later that it was closed."""
        self._log = log
        log.log_answer(self._response.status, self.request_id)

    async def start(self, wanted_bytes: int) -> bytes:
        """Read the first bytes, as many as wanted or available; they are returned again later."""
        reads: list[bytes] = []
        size = 0
        while size < wanted_bytes and (read := await self._next()):
            reads.append(read)
            size += len(read)
        self._pieces = _before(reads, self._pieces)
        return b"".join(reads)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._waiting_since_s = self._loop.time()
        if self._watch is None:
            self._watch_in(self._idle_s)
        try:
            read = await self._next()
        finally:
            self._waiting_since_s = None
        if not read:
            await self.aclose()
            raise StopAsyncIteration
        return read

    async def drain(self, take: Callable[[bytes], bool]) -> bool:
        """Call `take` with each read as it comes, until it returns True to ask for a pause (returns
        True) or the response has ended (returns False). Raises as iteration does.

        This is the fast way: `take` is called inside the callback of the socket if possible.
        """
        protocol = self._protocol
        if isinstance(protocol, PushProtocol) and self._inflation is None:
            for piece in self._pieces:
                if take(piece):
                    return True
            self._pieces = iter(())
            content = self._content
            if content.exception() is None:
                read = content.read_nowait()
                if read and take(read):
                    return True
            is_over = content.is_eof() or content.exception() is not None or self._is_closed
            if protocol.is_pushing and not is_over and await self._receive(protocol, take):
                return True
        async for read in self:
            if take(read):
                return True
        return False

    async def _receive(self, protocol: PushProtocol, take: Callable[[bytes], bool]) -> bool:
        """Have reads pushed until `take` asks for a pause. Returns False at the end, whatever ended
        the response."""
        self._paused_or_ended = self._loop.create_future()
        self._take = take
        self._waiting_since_s = self._loop.time()
        if self._watch is None:
            self._watch_in(self._idle_s)
        protocol.receiver = self
        try:
            return await self._paused_or_ended
        finally:
            protocol.receiver = self._paused_or_ended = self._take = None
            self._waiting_since_s = None

    def push(self, data: bytes) -> None:
        """Take bytes from the socket; called by the protocol."""
        take, future = self._take, self._paused_or_ended
        assert take is not None
        assert future is not None
        self._waiting_since_s = self._loop.time()
        try:
            is_paused = take(data)
        except Exception as error:  # noqa: BLE001 (raised where the stream is read)
            self._stop_receiving()
            if not future.done():
                future.set_exception(error)
            return
        if is_paused:
            # What comes now is buffered by aiohttp.
            self._stop_receiving()
            if not future.done():
                future.set_result(True)

    def end(self) -> None:
        """Note that no more bytes are pushed; called by the protocol."""
        future = self._paused_or_ended
        if future is not None and not future.done():
            future.set_result(False)

    def _stop_receiving(self) -> None:
        if isinstance(self._protocol, PushProtocol):
            self._protocol.receiver = None

    async def aclose(self) -> None:
        """Close the connection, or return it to the pool if the response has ended."""
        self._is_closed = True
        self.end()
        if self._watch is not None:
            self._watch.cancel()
        self._response.close()
        if self._log is not None:
            self._log.log_end(self._content.total_bytes)
            self._log = None

    async def _next(self) -> bytes:
        """Return the next bytes, decompressed; empty at the end."""
        for piece in self._pieces:
            return piece
        if self._inflation is None:
            return await self._read()
        while read := await self._read():
            self._pieces = self._inflation.feed(read)
            for piece in self._pieces:
                return piece
        if not self._is_closed:
            self._inflation.close()
        return b""

    async def _read(self) -> bytes:
        if self._break is None:
            try:
                return await self._content.readany()
            except (aiohttp.ClientError, OSError, RuntimeError) as error:
                self._break = self._describe(error)
            rest = take_unread(self._content)
            if rest and not self._is_closed:
                return rest
        if self._is_closed:
            return b""
        await self.aclose()
        raise self._break

    def _describe(self, error: Exception) -> StreamBroken:
        if isinstance(error, TimeoutError):
            return stream_broken("timeout", f"the stream was silent for idle_s={self._idle_s:g}")
        told = reason_of(error, self._secrets.clean)
        return stream_broken("network", f"the connection broke before the stream had ended: {told}")

    def _look(self) -> None:
        """Check whether a read has waited too long.

        One timer looks now and then, because a timer per read would cost as much as the read. A
        stream whose reader is busy is not idle, and time in which the process was stopped does not
        count.
        """
        self._watch = None
        if self._waiting_since_s is None:
            return
        now_s = self._loop.time()
        if find_pause_s(now_s, self._watch_due_s):
            self._waiting_since_s = now_s
        left_s = self._waiting_since_s + self._idle_s - now_s
        if left_s <= 0:
            # A reader whose data came in this round of the event loop runs in the next one.
            self._loop.call_soon(self._end_idle, self._waiting_since_s)
        else:
            self._watch_in(left_s)

    def _watch_in(self, seconds: float) -> None:
        self._watch_due_s = self._loop.time() + seconds
        self._watch = self._loop.call_at(self._watch_due_s, self._look)

    def _end_idle(self, since_s: float) -> None:
        """End the stream if its read still waits."""
        if self._is_closed:
            return
        if self._waiting_since_s == since_s:
            self._content.set_exception(aiohttp.SocketTimeoutError())
            self.end()
        elif self._waiting_since_s is not None and self._watch is None:
            self._watch_in(self._idle_s)


def take_unread(content: aiohttp.StreamReader) -> bytes:
    """Return the data that arrived before a connection broke.

    The client offers no public access: once an error is set, every read raises it and drops the
    data (aiohttp 3.14).
    """
    return content._read_nowait(-1)  # pyright: ignore[reportPrivateUsage]


def media_type_of(response: aiohttp.ClientResponse) -> str:
    """Return the media type of a response in lower case, or an empty text. `content_type` of
    aiohttp would keep 1.5 KB for it as long as the response is read."""
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def encoding_of(response: aiohttp.ClientResponse) -> str:
    """Return the content encoding of a response, or an empty text."""
    return response.headers.get("Content-Encoding", "").strip().lower()


def _before(first: list[T], rest: Iterator[T]) -> Iterator[T]:
    yield from first
    yield from rest

"""`PushProtocol`: passes the body of a response to its reader as the bytes come from the socket.

aiohttp's own way from the socket to a reader is a buffer, a future and a task for each read, which
costs more than decoding the read. So for a chunked response, which every stream of a model is, the
body goes past aiohttp: its parser gets only the head. Connections, TLS, proxies, heads, timeouts
and all other responses stay with aiohttp, and so does a body whose reader does not keep up: it is
buffered there, and reading from the socket pauses.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import Any, Protocol

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from headrace.transport.body.chunked_body import ChunkedBody, ChunkingBroken

_HEAD_END = b"\r\n\r\n"
# Longer heads are left to aiohttp, which refuses them sooner or later.
_MAX_HEAD_BYTES = 128 * 1024


def create_connector(tls: ssl.SSLContext | None) -> aiohttp.TCPConnector:
    """Return a connector of aiohttp whose connections can push. It limits no connections."""
    connector = aiohttp.TCPConnector(limit=0, ssl=True if tls is None else tls)
    # There is no public way to choose the protocol (aiohttp 3.14).
    factory = partial(PushProtocol, asyncio.get_running_loop())
    setattr(connector, "_factory", factory)  # noqa: B010 (private)
    return connector


class Receiver(Protocol):
    """Gets the body of a response."""

    def push(self, data: bytes) -> None:
        """Take the next bytes."""
        ...

    def end(self) -> None:
        """Note that no more bytes follow; the response says whether the body is complete."""
        ...


class PushProtocol(ResponseHandler):
    """The protocol of one connection. `receiver` gets the body of the response; without one, it is
    buffered for `response.content`."""

    # The attributes of aiohttp are in a dict, which would grow to 1.6 KB with these.
    __slots__ = ("_chunks", "_head", "_is_chunked", "_is_head_next", "receiver")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.receiver: Receiver | None = None
        self._is_head_next = False
        self._is_chunked = False
        self._chunks: ChunkedBody | None = None
        # What has come of a head.
        self._head = b""
        super().__init__(loop)

    @property
    def is_pushing(self) -> bool:
        """Whether the body that comes now can be passed to a receiver."""
        return self._chunks is not None and not self._chunks.is_finished

    def set_response_params(self, **options: Any) -> None:
        """Expect the response of a new request. Called by aiohttp."""
        self._is_head_next, self._chunks, self._head = True, None, b""
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        """Take bytes from the socket."""
        if self._chunks is not None:
            # aiohttp passes nothing on to continue with what its parser has kept.
            if data:
                self._receive_body(self._chunks, data)
        elif self._is_head_next and data:
            self._receive_head(data)
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Note that the connection is closed."""
        super().connection_lost(exc)
        self._end_receiver()

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a head that aiohttp has parsed, and what its body is read from."""
        message, payload = data
        self._is_head_next = 100 <= message.code < 200 and not message.upgrade
        self._is_chunked = message.chunked and not message.upgrade and payload is not EMPTY_PAYLOAD
        super().feed_data(data, size)

    def _receive_head(self, data: bytes) -> None:
        before = len(self._head)
        self._head += data
        end = self._head.find(_HEAD_END) + len(_HEAD_END)
        if end < len(_HEAD_END):
            self._is_head_next = len(self._head) < _MAX_HEAD_BYTES
            super().data_received(data)
            return
        head, self._head = self._head[:end], b""
        # The parser also accepts other line ends. It is not certain where such a head ends.
        if not head.count(b"\n") == head.count(b"\r") == head.count(b"\r\n"):
            self._is_head_next = False
            super().data_received(data)
            return
        cut = end - before
        self._is_chunked = False
        super().data_received(data[:cut])
        if self._is_chunked:
            self._chunks = ChunkedBody()
        if len(data) > cut:
            self.data_received(data[cut:])

    def _receive_body(self, chunks: ChunkedBody, data: bytes) -> None:
        payload: StreamReader | None = self._payload
        if payload is None or payload.is_eof():
            self._close()
            return
        try:
            content = chunks.feed(data)
        except ChunkingBroken as error:
            payload.set_exception(
                aiohttp.ClientPayloadError(f"Response payload is not completed: {error}")
            )
            self._end_receiver()
            self._close()
            return
        if content:
            if self.receiver is None:
                payload.feed_data(content)
            else:
                payload.total_bytes += len(content)
                self.receiver.push(content)
        if chunks.is_finished:
            self._finish(chunks, payload)

    def _finish(self, chunks: ChunkedBody, payload: StreamReader) -> None:
        # It has seen only the head, and would report a missing body.
        self._parser = None
        if chunks.excess:
            self.force_close()
        payload.feed_eof()
        self._end_receiver()

    def _end_receiver(self) -> None:
        if self.receiver is not None:
            self.receiver.end()

    def _close(self) -> None:
        """Close a connection that cannot be used again."""
        self.force_close()
        if self.transport is not None:
            self.transport.close()

"""An answer over gRPC: message after message, until it ends, fails or is closed."""

# Neither package has types that a strict check could follow.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from typing import Any, Self

import grpc.aio

from headrace.outcome import ErrorInfo
from headrace.transport.call_secrets import Secrets
from headrace.transport.error_response import request_id_of
from headrace.transport.grpc.error import as_headers, failure_of
from headrace.transport.limits import Timeouts
from headrace.transport.stream_error import StreamBroken, broken
from headrace.wire.framing.grpc import add_prefix


class GRPCStream:
    """An answer that is being read. It can be iterated once."""

    def __init__(self, call: Any, secrets: Secrets, timeouts: Timeouts, by_s: float) -> None:
        self.request_id: str | None = None
        self.first_event_by_s: float | None = by_s
        self._call = call
        self._secrets = secrets
        self._idle_s = timeouts.idle_s
        self._first: bytes | None = None
        # A task of its own, since gRPC ends a call whose reader is cancelled, and a reader
        # that gave up waiting may come back.
        self._reading: asyncio.Task[Any] | None = None
        self._is_closed = False

    async def start(self) -> ErrorInfo | None:
        """Wait for the first message; what came instead, if none did."""
        await asyncio.wait((self._next(),))
        self._first, failure = self._taken()
        if self._first is not None:
            self._note(await self._call.initial_metadata())
        if failure is None and self._first is None:
            return ErrorInfo(
                "incomplete", "it accepted the request and sent nothing", retryable=True
            )
        return failure

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        message, self._first = self._first, None
        if message is None:
            message = await self._read()
        if message is None:
            await self.aclose()
            raise StopAsyncIteration
        return add_prefix(message)

    async def aclose(self) -> None:
        """Cancel the call; the peer learns of it at once."""
        self._is_closed = True
        self._call.cancel()

    async def _read(self) -> bytes | None:
        """The next message; None at the end."""
        if self._is_closed:
            return None
        done, _ = await asyncio.wait((self._next(),), timeout=self._idle_s)
        message, failure = self._taken() if done else (None, self._idle())
        if self._has_closed():
            return None
        if failure is None:
            return message
        await self.aclose()
        raise StreamBroken(failure)

    def _has_closed(self) -> bool:
        """Whether somebody has closed the stream while another waited for it."""
        return self._is_closed

    def _next(self) -> asyncio.Task[Any]:
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.ensure_future(self._call.read())
            reading.add_done_callback(_looked_at)
        return reading

    def _taken(self) -> tuple[bytes | None, ErrorInfo | None]:
        """What the read has brought: a message, an end, or a failure."""
        reading, self._reading = self._reading, None
        assert reading is not None
        if reading.cancelled():
            return None, ErrorInfo("network", "the call was cancelled", "CANCELLED", True)
        error = reading.exception()
        if error is None:
            message = reading.result()
            return (None if message is grpc.aio.EOF else message), None
        return None, self._told(error)

    def _told(self, error: BaseException) -> ErrorInfo:
        if not isinstance(error, grpc.aio.AioRpcError):
            return ErrorInfo("network", self._secrets.clean(str(error)), retryable=True)
        self._note(error.initial_metadata())
        self._note(error.trailing_metadata())
        return failure_of(error, self._secrets)

    def _idle(self) -> ErrorInfo:
        return broken("timeout", f"the stream was silent for idle_s={self._idle_s:g}").failure

    def _note(self, metadata: Any) -> None:
        told = request_id_of(as_headers(metadata))
        self.request_id = self.request_id or (told and self._secrets.clean(told))


def _looked_at(reading: asyncio.Task[Any]) -> None:
    """Nobody may be waiting any more, and that is no news for the log."""
    if not reading.cancelled():
        reading.exception()

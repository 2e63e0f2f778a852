"""A response over gRPC, read message by message, and the errors of its statuses."""

# Neither package has types for a strict check.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from typing import Any, Self

import grpc.aio
import msgspec

from headrace.errors import RequestFailed
from headrace.outcome import ErrorInfo
from headrace.secrets.known import KnownSecrets
from headrace.transport.call_log import CallLog
from headrace.transport.call_secrets import address_of, secrets_of
from headrace.transport.error_response import HINTS, request_id_of, retry_after_of
from headrace.transport.limits import Timeouts
from headrace.transport.process_pause import find_pause_s
from headrace.transport.stream_error import StreamBroken, stream_broken
from headrace.transport.transport import HTTPCall
from headrace.wire.error import parse_error
from headrace.wire.framing.grpc import add_prefix

# The error word for a status in `wire.error`, if it differs from its name.
_WORDS = {
    "OUT_OF_RANGE": "invalid_argument",
    "ALREADY_EXISTS": "invalid_argument",
    "UNIMPLEMENTED": "invalid_argument",
    "ABORTED": "unavailable",
    "UNKNOWN": "internal",
    "DATA_LOSS": "internal",
}


class GRPCStream:
    """A response that is being read. It can be iterated once."""

    def __init__(self, call: Any, secrets: KnownSecrets, timeouts: Timeouts, by_s: float) -> None:
        self.request_id: str | None = None
        self.first_event_by_s: float | None = by_s
        self._call = call
        self._secrets = secrets
        self._idle_s = timeouts.idle_s
        self._first: bytes | None = None
        # A separate task, because gRPC ends a call whose reader is cancelled, and a reader that
        # stopped waiting may come back.
        self._reading: asyncio.Task[Any] | None = None
        self._is_closed = False
        self._received_bytes = 0
        self._log: CallLog | None = None

    def start_log(self, log: CallLog) -> None:
        """Log that the response has begun, and later that it was closed."""
        self._log = log
        log.log_answer("OK", self.request_id)

    async def start(self) -> ErrorInfo | None:
        """Wait for the first message. Return the error if none arrived."""
        await asyncio.wait((self._next(),))
        self._first, failure = self._take_result()
        if self._first is not None:
            self._note(await self._call.initial_metadata())
        if failure is None and self._first is None:
            return ErrorInfo(
                "incomplete", "it accepted the request but sent nothing", retryable=True
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
        self._received_bytes += len(message)
        return add_prefix(message)

    async def aclose(self) -> None:
        """Cancel the call; the peer learns of it at once."""
        self._is_closed = True
        self._call.cancel()
        if self._log is not None:
            self._log.log_end(self._received_bytes)
            self._log = None

    async def _read(self) -> bytes | None:
        if self._is_closed:
            return None
        loop, done = asyncio.get_running_loop(), set[asyncio.Task[Any]]()
        due_s = float("-inf")
        # Time in which the process was stopped does not count.
        while not done and find_pause_s(loop.time(), due_s):
            due_s = loop.time() + self._idle_s
            done, _ = await asyncio.wait((self._next(),), timeout=self._idle_s)
        message, failure = self._take_result() if done else (None, self._idle())
        if self._has_closed():
            return None
        if failure is None:
            return message
        await self.aclose()
        raise StreamBroken(failure)

    def _has_closed(self) -> bool:
        """Return whether the stream was closed while another task waited for it."""
        return self._is_closed

    def _next(self) -> asyncio.Task[Any]:
        reading = self._reading
        if reading is None:
            reading = self._reading = asyncio.ensure_future(self._call.read())
            reading.add_done_callback(_looked_at)
        return reading

    def _take_result(self) -> tuple[bytes | None, ErrorInfo | None]:
        """Return the result of the read: a message, the end, or an error."""
        reading, self._reading = self._reading, None
        assert reading is not None
        if reading.cancelled():
            return None, ErrorInfo("network", "the call was cancelled", "CANCELLED", True)
        error = reading.exception()
        if error is None:
            message = reading.result()
            return (None if message is grpc.aio.EOF else message), None
        return None, self._describe(error)

    def _describe(self, error: BaseException) -> ErrorInfo:
        if not isinstance(error, grpc.aio.AioRpcError):
            return ErrorInfo("network", self._secrets.clean(str(error)), retryable=True)
        self._note(error.initial_metadata())
        self._note(error.trailing_metadata())
        return error_from_status(error, self._secrets)

    def _idle(self) -> ErrorInfo:
        return stream_broken("timeout", f"the stream was silent for idle_s={self._idle_s:g}").error

    def _note(self, metadata: Any) -> None:
        told = request_id_of(as_headers(metadata))
        self.request_id = self.request_id or (told and self._secrets.clean(told))


def _looked_at(reading: asyncio.Task[Any]) -> None:
    """Consume the result of an abandoned read, so that asyncio does not log it."""
    if not reading.cancelled():
        reading.exception()


def error_from_status(error: grpc.aio.AioRpcError, secrets: KnownSecrets) -> ErrorInfo:
    """Return the error for a status, without the key."""
    name = error.code().name
    details = secrets.hide(error.details() or "")
    told = as_headers(error.trailing_metadata())
    if name == "CANCELLED":
        failure = ErrorInfo("network", details or "the call was cancelled", retryable=True)
    elif name == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        # Our own limit, which gRPC reports in the same words as the peer's.
        failure = ErrorInfo("protocol", details)
    else:
        word = _WORDS.get(name, name.lower())
        failure = parse_error({"code": word, "message": details or f"gRPC status {name}"})
    return msgspec.structs.replace(
        failure,
        message=secrets.clean(f"gRPC {name}: {failure.message}"),
        code=name,
        retry_after_s=retry_after_of(told),
    )


def as_network_error(failure: ErrorInfo) -> ErrorInfo:
    """Return the network error for a server that could not be reached."""
    if failure.code != "UNAVAILABLE":
        return failure
    message = f"{failure.message.rstrip('.')}. Is the server running?"
    # A certificate that is not trusted now will not be trusted next time.
    retryable = "CERTIFICATE" not in failure.message.upper()
    return msgspec.structs.replace(
        failure, category="network", message=message, retryable=retryable
    )


def refusal(call: HTTPCall, failure: ErrorInfo, request_id: str | None) -> RequestFailed:
    """Return the exception for a call without a stream."""
    secrets = secrets_of(call)
    told, hint = secrets.clean(failure.message), HINTS.get(failure.category)
    told = f"{told.rstrip('.')}. {hint}" if hint else told
    return RequestFailed(
        # The address is clean already, and the method's name looks like one of xAI's keys.
        f"{secrets.hide(address_of(call.url))}: {told}",
        category=failure.category,
        code=failure.code,
        retryable=failure.retryable,
        retry_after_s=failure.retry_after_s,
        request_id=request_id,
    )


def as_headers(metadata: Any) -> dict[str, str]:
    """Return the metadata values that are text; keys are lowercase."""
    return {name: value for name, value in metadata or () if isinstance(value, str)}

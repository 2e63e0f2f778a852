"""gRPC: one call with a stream of messages for its answer. The only file that knows gRPC,
and xAI's published types.

Errors of the client are never chained to ours: theirs tell of the call, and that of the key.
"""

# Neither package has types that a strict check could follow.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
import re
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

import grpc
import grpc.aio
import msgspec
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from xai_sdk.proto import chat_pb2

from headrace.content import ErrorCategory, Failure
from headrace.errors import HeadraceError, RequestFailed, UsageError
from headrace.transport.broken import StreamBroken, broken
from headrace.transport.byte_stream import HTTPCall
from headrace.transport.error_body import HINTS, request_id_of, retry_after_of
from headrace.transport.limits import DEFAULT_TIMEOUTS, Timeouts
from headrace.transport.secret import SHOWN_HEADERS, Secrets, address_of
from headrace.wire.failure import MAX_MESSAGE_CHARS, failure_from
from headrace.wire.framing.grpc import prefixed
from headrace.wire.limits import DEFAULT_LIMITS

# The word that stands for a status in `wire.failure`, where that is not its own name.
_WORDS = {
    "OUT_OF_RANGE": "invalid_argument",
    "ALREADY_EXISTS": "invalid_argument",
    "UNIMPLEMENTED": "invalid_argument",
    "ABORTED": "unavailable",
    "UNKNOWN": "internal",
    "DATA_LOSS": "internal",
}
# Belongs to the connection, not to the call.
_NOT_SENT = frozenset({"content-type", "content-length", "accept-encoding", "host", "te"})
_NAME = re.compile(r"[0-9a-z_.-]+")
_VALUE = re.compile(r"[\x20-\x7e]*")
_NEAR = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")
_SCHEMES = ("http", "https")


class GRPCTransport:
    """Opens streams over gRPC, with connections that are kept between calls.

    A call's body is the JSON of the published request type; its address ends with the
    method. The stream's reads are the answer's messages, each behind its gRPC prefix.
    `https` is TLS, with the certificates in `roots` (PEM) or those that gRPC brings; `http`
    is in clear, and takes a key to this machine only. Proxies are taken from the environment
    with `trust_env`.

    It belongs to the event loop that first uses it; close it there with `aclose()`, or use it
    with `async with`.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        max_message_bytes: int = DEFAULT_LIMITS.max_frame_bytes,
        trust_env: bool = False,
        roots: bytes | None = None,
    ) -> None:
        self._timeouts = timeouts
        self._roots = roots
        self._options = [
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.enable_http_proxy", int(trust_env)),
            # Whoever opened the turn tries again, and knows whether it may.
            ("grpc.enable_retries", 0),
            # A failure to connect is one call's, not that of all that come after.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        self._channels: dict[tuple[str, str], grpc.aio.Channel] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, call: HTTPCall) -> GRPCStream:
        """Send the call; return when the first message has come.

        Raises `RequestFailed` where none comes, and `UsageError` for a call that cannot be
        sent at all.
        """
        address, metadata, message = _address(call), _metadata(call), _message(call)
        opened = await self._opened(call, address, metadata, message)
        # Raised here, where no error of the client is at hand to be chained.
        if isinstance(opened, HeadraceError):
            raise opened
        return opened

    async def aclose(self) -> None:
        """Close all connections, those of open streams included."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _opened(
        self,
        call: HTTPCall,
        address: SplitResult,
        metadata: list[tuple[str, str]],
        message: bytes,
    ) -> GRPCStream | HeadraceError:
        by_s = asyncio.get_running_loop().time() + self._timeouts.first_event_s
        channel = self._channel(address)
        is_connected = await self._connected(channel)
        if is_connected is None:
            await self._forget(address)
            told = f"no connection within connect_s={self._timeouts.connect_s:g}"
            return _failed(call, "timeout", told)
        method = channel.unary_stream(address.path)
        stream = GRPCStream(method(message, metadata=metadata), Secrets(call), self._timeouts, by_s)
        try:
            async with asyncio.timeout_at(by_s):
                failure = await stream.start()
        except TimeoutError:
            told = f"no answer within first_event_s={self._timeouts.first_event_s:g}"
            failure = Failure("timeout", told, retryable=True)
        except BaseException:
            await stream.aclose()
            raise
        if failure is None:
            return stream
        await stream.aclose()
        if not is_connected:
            await self._forget(address)
            failure = _unreached(failure)
        return _refused(call, failure, stream.request_id)

    def _channel(self, address: SplitResult) -> grpc.aio.Channel:
        loop = asyncio.get_running_loop()
        if not self._channels:
            self._loop = loop
        if self._loop is not loop:
            raise UsageError(
                "this GRPCTransport belongs to another event loop: make one for each loop,"
                " or close it before its loop ends"
            )
        key = (address.scheme, address.netloc)
        if key not in self._channels:
            self._channels[key] = self._new_channel(address)
        return self._channels[key]

    def _new_channel(self, address: SplitResult) -> grpc.aio.Channel:
        target = _target(address)
        if address.scheme == "http":
            return grpc.aio.insecure_channel(target, options=self._options)
        trust = grpc.ssl_channel_credentials(root_certificates=self._roots)
        return grpc.aio.secure_channel(target, trust, options=self._options)

    async def _connected(self, channel: grpc.aio.Channel) -> bool | None:
        """Whether there is a connection; None where that took too long. Where it failed, the
        call is made all the same, and tells why."""
        try:
            async with asyncio.timeout(self._timeouts.connect_s):
                while True:
                    state = channel.get_state(try_to_connect=True)
                    if state == grpc.ChannelConnectivity.READY:
                        return True
                    if state == grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                        return False
                    await channel.wait_for_state_change(state)
        except TimeoutError:
            return None

    async def _forget(self, address: SplitResult) -> None:
        """Leave a channel that could not connect: it would wait before it tries again."""
        channel = self._channels.pop((address.scheme, address.netloc), None)
        if channel is not None:
            await channel.close()


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

    async def start(self) -> Failure | None:
        """Wait for the first message; what came instead, if none did."""
        await asyncio.wait((self._next(),))
        self._first, failure = self._taken()
        if self._first is not None:
            self._note(await self._call.initial_metadata())
        if failure is None and self._first is None:
            return Failure("incomplete", "it accepted the request and sent nothing", retryable=True)
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
        return prefixed(message)

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

    def _taken(self) -> tuple[bytes | None, Failure | None]:
        """What the read has brought: a message, an end, or a failure."""
        reading, self._reading = self._reading, None
        assert reading is not None
        if reading.cancelled():
            return None, Failure("network", "the call was cancelled", "CANCELLED", True)
        error = reading.exception()
        if error is None:
            message = reading.result()
            return (None if message is grpc.aio.EOF else message), None
        return None, self._told(error)

    def _told(self, error: BaseException) -> Failure:
        if not isinstance(error, grpc.aio.AioRpcError):
            return Failure("network", self._secrets.clean(str(error)), retryable=True)
        self._note(error.initial_metadata())
        self._note(error.trailing_metadata())
        return _failure(error, self._secrets)

    def _idle(self) -> Failure:
        return broken("timeout", f"the stream was silent for idle_s={self._idle_s:g}").failure

    def _note(self, metadata: Any) -> None:
        told = request_id_of(_as_headers(metadata))
        self.request_id = self.request_id or (told and self._secrets.clean(told))


def _looked_at(reading: asyncio.Task[Any]) -> None:
    """Nobody may be waiting any more, and that is no news for the log."""
    if not reading.cancelled():
        reading.exception()


# --- from a call to what gRPC wants -----------------------------------------------


def _address(call: HTTPCall) -> SplitResult:
    try:
        address = urlsplit(call.url)
        is_address = address.scheme in _SCHEMES and bool(address.hostname)
        _ = address.port
    except ValueError:
        address, is_address = urlsplit(""), False
    if not is_address:
        raise UsageError(f"expected an http or https address; got {address_of(call.url)}")
    is_near = _NEAR.fullmatch((address.hostname or "").lower()) is not None
    has_key = any(name.lower() not in SHOWN_HEADERS for name in call.headers)
    if address.scheme == "http" and has_key and not is_near:
        raise UsageError(
            f"{address_of(call.url)} is not on this machine, and the key would go there in clear:"
            " expected https"
        )
    return address


def _target(address: SplitResult) -> str:
    host = address.hostname or ""
    port = address.port or (443 if address.scheme == "https" else 80)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _metadata(call: HTTPCall) -> list[tuple[str, str]]:
    """The headers, as gRPC has them. What it would refuse it would also show."""
    metadata: list[tuple[str, str]] = []
    for given, value in call.headers.items():
        name = given.lower()
        if name in _NOT_SENT:
            continue
        if not _NAME.fullmatch(name) or name.startswith("grpc-") or name.endswith("-bin"):
            raise UsageError(f"gRPC has no header {given!r}")
        if not _VALUE.fullmatch(value):
            raise UsageError(f"the header {given} holds what gRPC cannot send: expected ASCII")
        metadata.append((name, value))
    return metadata


def _message(call: HTTPCall) -> bytes:
    """The body as the bytes of the published type."""
    path = urlsplit(call.url).path
    # A gateway may have put something before it.
    kind = _REQUESTS.get("/".join(["", *path.split("/")[-2:]]))
    if kind is None:
        raise UsageError(f"no method {path}: there are {', '.join(_REQUESTS)}")
    try:
        message = json_format.Parse(call.body, kind())
        return bytes(message.SerializeToString())
    except (json_format.ParseError, ValueError) as error:
        told = Secrets(call).hide(str(error))[:MAX_MESSAGE_CHARS]
    raise UsageError(f"the request is no {kind.DESCRIPTOR.full_name}: {told}")


_REQUESTS: dict[str, Any] = {
    f"/{service.full_name}/{method.name}": GetMessageClass(method.input_type)
    for service in chat_pb2.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.server_streaming
}


# --- from a status to our failures ------------------------------------------------


def _failure(error: grpc.aio.AioRpcError, secrets: Secrets) -> Failure:
    name = error.code().name
    details = secrets.hide(error.details() or "")
    told = _as_headers(error.trailing_metadata())
    if name == "CANCELLED":
        failure = Failure("network", details or "the call was cancelled", retryable=True)
    elif name == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        # Our own limit, which gRPC tells in the same words as the peer's.
        failure = Failure("protocol", details)
    else:
        word = _WORDS.get(name, name.lower())
        failure = failure_from({"code": word, "message": details or f"gRPC status {name}"})
    return msgspec.structs.replace(
        failure,
        message=secrets.clean(f"gRPC {name}: {failure.message}"),
        code=name,
        retry_after_s=retry_after_of(told),
    )


def _unreached(failure: Failure) -> Failure:
    """Nobody was there to say so: it is the network's."""
    if failure.code != "UNAVAILABLE":
        return failure
    message = f"{failure.message.rstrip('.')}. Is the server running?"
    # A certificate that is not trusted now will not be the next time.
    retryable = "CERTIFICATE" not in failure.message.upper()
    return msgspec.structs.replace(
        failure, category="network", message=message, retryable=retryable
    )


def _failed(call: HTTPCall, category: ErrorCategory, told: str) -> RequestFailed:
    return _refused(call, Failure(category, told, retryable=True), None)


def _refused(call: HTTPCall, failure: Failure, request_id: str | None) -> RequestFailed:
    secrets = Secrets(call)
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


def _as_headers(metadata: Any) -> dict[str, str]:
    """Metadata that is text; keys come in lower case."""
    return {name: value for name, value in metadata or () if isinstance(value, str)}

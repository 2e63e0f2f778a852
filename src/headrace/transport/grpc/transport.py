"""The gRPC transport: one call with a stream of messages as its response.

Only this folder imports gRPC and xAI's published types. Errors of the client are never chained to
ours, because they describe the call, including the key.
"""

# Neither package has types for a strict check.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from typing import Self
from urllib.parse import SplitResult

import grpc
import grpc.aio

from headrace.errors import HeadraceError, UsageError
from headrace.outcome import ErrorInfo
from headrace.transport.call_log import CallLog
from headrace.transport.call_secrets import secrets_of
from headrace.transport.grpc.call import address_from, message_from, metadata_from, target_of
from headrace.transport.grpc.stream import GRPCStream, as_network_error, refusal
from headrace.transport.limits import DEFAULT_TIMEOUTS, Timeouts
from headrace.transport.transport import HTTPCall
from headrace.wire.limits import DEFAULT_WIRE_LIMITS


class GRPCTransport:
    """Opens streams over gRPC and keeps connections between calls.

    A call's body is the JSON of the published request type; its address ends with the method. The
    reads of the stream are the messages of the response, each with its gRPC prefix.

    `https` uses TLS, with the certificates in `roots` (PEM) or those of gRPC. `http` is
    unencrypted, and a key is only sent to this machine. With `trust_env`, proxies are taken from
    the environment.

    The transport belongs to the event loop that first uses it. Close it there with `aclose()`, or
    use it with `async with`.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        max_message_bytes: int = DEFAULT_WIRE_LIMITS.max_frame_bytes,
        trust_env: bool = False,
        roots: bytes | None = None,
    ) -> None:
        self._timeouts = timeouts
        self._roots = roots
        self._options = [
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.enable_http_proxy", int(trust_env)),
            # The caller that opened the turn retries, and knows whether it may.
            ("grpc.enable_retries", 0),
            # A connection error belongs to one call, not to all that follow.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        self._channels: dict[tuple[str, str], grpc.aio.Channel] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, call: HTTPCall) -> GRPCStream:
        """Send the call and return when the first message has arrived.

        Raises `RequestFailed` if none arrives, and `UsageError` if the call cannot be sent at all.
        """
        address = address_from(call)
        metadata, message = metadata_from(call), message_from(call)
        log = CallLog(call)
        opened = await self._open(call, address, metadata, message)
        # Raised outside of the except block, so that the client's error is not chained.
        if isinstance(opened, HeadraceError):
            log.log_error(opened)
            raise opened
        opened.start_log(log)
        return opened

    async def aclose(self) -> None:
        """Close all connections, including those of open streams."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _open(
        self,
        call: HTTPCall,
        address: SplitResult,
        metadata: list[tuple[str, str]],
        message: bytes,
    ) -> GRPCStream | HeadraceError:
        by_s = asyncio.get_running_loop().time() + self._timeouts.first_event_s
        channel = self._channel(address)
        is_connected = await self._connect(channel)
        if is_connected is None:
            await self._forget(address)
            told = f"no connection within connect_s={self._timeouts.connect_s:g}"
            return refusal(call, ErrorInfo("timeout", told, retryable=True), None)
        method = channel.unary_stream(address.path)
        stream = GRPCStream(
            method(message, metadata=metadata), secrets_of(call), self._timeouts, by_s
        )
        try:
            async with asyncio.timeout_at(by_s):
                failure = await stream.start()
        except TimeoutError:
            told = f"no response within first_event_s={self._timeouts.first_event_s:g}"
            failure = ErrorInfo("timeout", told, retryable=True)
        except BaseException:
            await stream.aclose()
            raise
        if failure is None:
            return stream
        await stream.aclose()
        if not is_connected:
            await self._forget(address)
            failure = as_network_error(failure)
        return refusal(call, failure, stream.request_id)

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
        target = target_of(address)
        if address.scheme == "http":
            return grpc.aio.insecure_channel(target, options=self._options)
        trust = grpc.ssl_channel_credentials(root_certificates=self._roots)
        return grpc.aio.secure_channel(target, trust, options=self._options)

    async def _connect(self, channel: grpc.aio.Channel) -> bool | None:
        """Return whether there is a connection, or None after a timeout.

        If connecting failed, the call is made anyway and reports why.
        """
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
        """Drop a channel that could not connect: it would wait before trying again."""
        channel = self._channels.pop((address.scheme, address.netloc), None)
        if channel is not None:
            await channel.close()

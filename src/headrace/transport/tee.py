"""A transport that notes what it reads, for a gateway that passes the bytes on."""

from __future__ import annotations

from collections.abc import AsyncIterator

from headrace.transport.transport import ByteStream, HTTPCall, Transport


class ByteTee:
    """What has been read from a provider and not yet passed on."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._rest = b""
        self.is_used = False
        """Whether the provider that answers uses the grammar of the client."""

    def add(self, part: bytes) -> None:
        """Note a read."""
        self._parts.append(part)

    def clear(self) -> None:
        """Forget everything: the request is sent again, or to another provider."""
        self._parts.clear()
        self._rest = b""

    def take_frames(self) -> list[bytes]:
        """Return the server-sent events that are complete, each with its blank line."""
        data = self._rest + b"".join(self._parts)
        self._parts.clear()
        if b"\r" in data:
            # A line end may be cut in two.
            held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        *frames, self._rest = data.split(b"\n\n")
        return [frame + b"\n\n" for frame in frames if frame.strip()]


class TeeTransport:
    """A transport that notes what it reads."""

    def __init__(self, transport: Transport, tee: ByteTee, *, is_same_grammar: bool) -> None:
        self._transport = transport
        self._tee = tee
        self._is_same_grammar = is_same_grammar

    async def open(self, call: HTTPCall) -> ByteStream:
        """Send the call. The tee has then only what this call reads."""
        self._tee.clear()
        self._tee.is_used = self._is_same_grammar
        stream = await self._transport.open(call)
        return _TeeStream(stream, self._tee) if self._is_same_grammar else stream

    async def aclose(self) -> None:
        """Nothing is kept: the transport belongs to the gateway."""


class _TeeStream:
    def __init__(self, stream: ByteStream, tee: ByteTee) -> None:
        self._stream = stream
        self._tee = tee
        self.request_id = stream.request_id
        self.first_event_by_s = stream.first_event_by_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        add = self._tee.add
        async for part in self._stream:
            add(part)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()

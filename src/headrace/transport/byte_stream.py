"""The seam of all transports: a call goes out, a stream of reads comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec


class HTTPCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Its headers hold the key: they are never shown, logged or recorded."""

    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"HTTPCall({self.url.partition('?')[0]!r}, {len(self.body)} bytes)"


class ByteStream(Protocol):
    """The answer as it comes in: read after read, until it ends or is closed."""

    request_id: str | None

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The reads. Raises `headrace.transport.errors.StreamBroken` where the network breaks
        or a timeout passes; the caller turns that into one terminal event."""
        ...

    async def aclose(self) -> None:
        """Close the connection now, whatever is still to come."""
        ...


class Transport(Protocol):
    """Opens streams. Raises `headrace.errors.RequestFailed` where none begins."""

    async def open(self, call: HTTPCall) -> ByteStream:
        """Send the call; return when the provider has accepted it."""
        ...

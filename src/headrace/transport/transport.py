"""The seam of all transports: a call goes out, a stream of reads comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

import msgspec


class HTTPCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Its headers hold the key: they are never shown, logged or recorded."""

    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"HTTPCall({_bare(self.url)!r}, {len(self.body)} bytes)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """What rich prints of it in a traceback with locals; msgspec's own gives all fields."""
        return [("url", _bare(self.url)), ("bytes", len(self.body))]


def _bare(url: str) -> str:
    """Without what may be secret: the user's part, and the query."""
    before = url.partition("?")[0]
    scheme, mark, _ = before.partition("://")
    _, user, rest = before.rpartition("@")
    return f"{scheme}{mark}{rest}" if user and mark else rest


class ByteStream(Protocol):
    """The answer as it comes in: read after read, until it ends or is closed."""

    request_id: str | None
    first_event_by_s: float | None
    """The event loop's time by which the first event must have come; None: any time."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The reads, once. Raises `headrace.transport.stream_error.StreamBroken` where the network
        breaks or a timeout passes; the caller turns that into one terminal event."""
        ...

    async def aclose(self) -> None:
        """Close the connection now, whatever is still to come."""
        ...


class Transport(Protocol):
    """Opens streams. Raises `headrace.errors.RequestFailed` where none begins."""

    async def open(self, call: HTTPCall) -> ByteStream:
        """Send the call; return when the provider has begun to answer."""
        ...

    async def aclose(self) -> None:
        """Let go of whatever is kept between calls."""
        ...

"""The interface of transports: send a call, get a stream of reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec


class HTTPCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Its headers hold the key; they are never shown, logged or recorded."""

    url: str
    """The full address."""
    headers: dict[str, str]
    """Headers, including the API key."""
    body: bytes
    """The JSON of the request."""
    sign: Signer | None = None
    """Adds credentials just before the call is sent, or None if the headers have the key."""

    def __repr__(self) -> str:
        return f"HTTPCall({_bare(self.url)!r}, {len(self.body)} bytes)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return what rich may print in a traceback; msgspec's own version shows all fields."""
        return [("url", _bare(self.url)), ("bytes", len(self.body))]


Signer: TypeAlias = Callable[[HTTPCall], Awaitable[HTTPCall]]
"""Returns the call with headers that hold for a short time, such as a signature or an access token.
Called once for each attempt. Raises `UsageError`, which says what to set, without credentials."""


async def sign_call(call: HTTPCall) -> HTTPCall:
    """Return the call as it is sent: signed, if it has to be."""
    return call if call.sign is None else await call.sign(call)


def _bare(url: str) -> str:
    """Return the URL without user and query, which may be secret."""
    before = url.partition("?")[0]
    scheme, mark, _ = before.partition("://")
    _, user, rest = before.rpartition("@")
    return f"{scheme}{mark}{rest}" if user and mark else rest


class ByteStream(Protocol):
    """The response as it arrives, read by read, until it ends or is closed."""

    request_id: str | None
    first_event_by_s: float | None
    """Event loop time by which the first event must have arrived, or None."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the reads, once.

        Raises `headrace.transport.stream_error.StreamBroken` if the network breaks or a timeout
        passes; the caller turns that into one terminal event.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection now, even if more is to come."""
        ...


@runtime_checkable
class PushStream(ByteStream, Protocol):
    """A stream that can pass its reads to a function as they come, without a task for each."""

    async def drain(self, take: Callable[[bytes], bool]) -> bool:
        """Call `take` with each read, until it returns True to ask for a pause (returns True), or
        the stream has ended (returns False). Raises what iteration raises."""
        ...


class Transport(Protocol):
    """Opens streams. Raises `headrace.errors.RequestFailed` if none begins."""

    async def open(self, call: HTTPCall) -> ByteStream:
        """Send the call and return when the provider has begun to respond."""
        ...

    async def aclose(self) -> None:
        """Release everything that is kept between calls."""
        ...

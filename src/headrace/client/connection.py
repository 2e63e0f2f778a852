"""A line to a server of ours: requests go out, replies come back, whole or as they stream. The
seam; `headrace.client.http` is the line over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, Protocol

NO_HEADERS: Final[Mapping[str, str]] = {}


class Reply:
    """What a server answered. Iterate over it, or `read()` it, once; then `aclose()`."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        body: AsyncIterator[bytes],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self.status = status
        self.headers = headers
        """By names in small letters."""
        self._body = body
        self.aclose = close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body

    async def read(self) -> bytes:
        """All of it."""
        return b"".join([piece async for piece in self._body])


class Line(Protocol):
    """Where requests go."""

    address: str
    """Of the server; empty where it is this process."""

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply:
        """Send a request; the reply is here when its headers are. Raises `RequestFailed` where
        there is none; iterating over a reply that breaks off raises `StreamBroken`."""
        ...

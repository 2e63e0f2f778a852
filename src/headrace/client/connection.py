"""The `Connection` interface, over which a client sends requests, and the client's exception."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from headrace.errors import HeadraceError

Headers: TypeAlias = Mapping[str, str]
NO_HEADERS: Final[Headers] = {}


class ClientError(HeadraceError):
    """A request failed: the server refused it, or could not be reached.

    `status` is the HTTP status, or None if there was no response. `code` is the error code of the
    server, such as `not_found`, or `network` if there was no response.
    """

    def __init__(self, status: int | None, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed soon: no network, or the server is restarting."""
        return self.status is None or self.status == 503


@dataclass(frozen=True)
class Response:
    """A response. Iterate over it or `read()` it, once; then `aclose()` it."""

    status: int
    headers: Headers
    """Headers by lower-case name."""
    body: AsyncIterator[bytes]
    aclose: Callable[[], Awaitable[None]]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.body

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.body])


class Connection(Protocol):
    """Sends requests to one server."""

    address: str
    """URL of the server, or empty if it runs in this process."""

    async def request(
        self, method: str, path: str, body: bytes | None = None, headers: Headers = NO_HEADERS
    ) -> Response:
        """Send a request and return the response as soon as its headers are there.

        This, and iterating over the response, raises `ClientError` if the network fails.
        """
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...

"""A line over HTTP. No proxy is asked and no redirect followed, since the token would go along."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Self

import aiohttp

from headrace.client.connection import NO_HEADERS, Reply
from headrace.errors import RequestFailed
from headrace.transport.stream_error import StreamBroken, reason_of, stream_broken

_CONNECT_S = 10.0
# A server says something every 15 seconds, if only that it is there.
_SILENCE_S = 60.0


class HTTPLine:
    """A line over HTTP. Use it with `async with`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S, sock_read=_SILENCE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply:
        """As `Line` has it."""
        try:
            response = await self._session.request(
                method, self.address + path, data=body, headers=headers, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failed = _unreached(self.address, error)
        else:
            return _reply(response)
        # Raised here, where no error of the client, which holds the token, is chained.
        raise failed


def _reply(response: aiohttp.ClientResponse) -> Reply:
    async def close() -> None:
        response.close()

    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status, headers, _pieces(response), close)


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    gone: StreamBroken | None = None
    try:
        async for piece in response.content.iter_any():
            yield piece
    except (aiohttp.ClientError, OSError) as error:
        gone = stream_broken("network", f"the connection to the server broke: {reason_of(error)}")
    if gone is not None:
        raise gone


def _unreached(address: str, error: Exception) -> RequestFailed:
    told = f"{address} cannot be reached: {reason_of(error)}"
    return RequestFailed(told, category="network", retryable=True)

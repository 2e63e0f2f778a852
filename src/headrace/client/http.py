"""A connection over HTTP. It uses no proxy and follows no redirect, so that the access token goes
to the server alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

from headrace.client.connection import NO_HEADERS, ClientError, Headers, Response
from headrace.transport.stream_error import reason_of

_CONNECT_S = 10.0
# A server sends a heartbeat every 15 seconds.
_SILENCE_S = 60.0


class HTTPConnection:
    """Sends requests over HTTP; see `Connection`."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def request(
        self, method: str, path: str, body: bytes | None = None, headers: Headers = NO_HEADERS
    ) -> Response:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S, sock_read=_SILENCE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        try:
            response = await self._session.request(
                method, self.address + path, data=body, headers=headers, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError, ValueError) as raised:
            text = f"cannot reach {self.address}: {reason_of(raised)}"
        else:
            return _to_response(response)
        # Raised outside of the handler: aiohttp's exception, which holds the access token, is not
        # chained to it.
        raise ClientError(None, "network", text)

    async def aclose(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


def _to_response(response: aiohttp.ClientResponse) -> Response:
    async def close() -> None:
        response.close()

    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status, headers, _read_chunks(response), close)


async def _read_chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
        return
    except (aiohttp.ClientError, OSError) as raised:
        text = f"the connection to the server broke: {reason_of(raised)}"
    raise ClientError(None, "network", text)

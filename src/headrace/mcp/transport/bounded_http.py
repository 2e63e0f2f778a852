"""An HTTP transport with limits. It imports `httpx2`, so it is imported only when it is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
import msgspec

from headrace.mcp.limits import MCPLimits
from headrace.mcp.transport.flood import FloodGuard

_UNREACHABLE: Final = -32000


class BoundedStream(httpx2.AsyncByteStream):
    """A response body that ends with an error when it goes past a limit."""

    def __init__(self, stream: Any, limits: MCPLimits, *, is_event_stream: bool) -> None:
        self._stream = stream
        self._limits = limits
        self._is_event_stream = is_event_stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, guard = 0, FloodGuard(self._limits)
        async for data in self._stream:
            size += len(data)
            # The events of a stream have limits of their own.
            if size > self._limits.max_message_bytes and not self._is_event_stream:
                raise httpx2.StreamError("the response is too long")
            if self._is_event_stream and guard.count(data.count(b"\n\n") + 1):
                raise httpx2.StreamError("the server sends too many events")
            yield data

    async def aclose(self) -> None:
        """Close the connection of the response."""
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Answers a request that cannot be sent with an error response: it fails its call, not the
    session with its other calls."""

    def __init__(self, limits: MCPLimits) -> None:
        self._limits = limits
        self._inner = httpx2.AsyncHTTPTransport(retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            return _refuse(f"the server cannot be reached: {type(error).__name__}")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A few bytes could become gigabytes.
            await response.aclose()
            return _refuse("the server compresses its response, which was not asked for")
        kind = response.headers.get("content-type", "").lower()
        is_event_stream = kind.startswith("text/event-stream")
        response.stream = BoundedStream(
            response.stream, self._limits, is_event_stream=is_event_stream
        )
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def _refuse(why: str) -> httpx2.Response:
    error = {"code": _UNREACHABLE, "message": why}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=body)

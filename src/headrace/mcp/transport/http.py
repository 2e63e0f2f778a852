"""The transport to a server with a URL: Streamable HTTP with limits.

A server that cannot be reached fails the request, not the whole session, and a response that is too
long is cut off.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from headrace.mcp.address import ServerAddress
from headrace.mcp.limits import MCPLimits

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_CONNECT_S = 30.0
_READ_S = 300.0


@asynccontextmanager
async def open_http(
    address: ServerAddress, limits: MCPLimits, auth: Any = None
) -> AsyncGenerator[TransportStreams, None]:
    """Yield the streams of the messages of a session."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from headrace.mcp.transport.bounded_http import BoundedTransport

    assert address.url is not None
    timeout = httpx2.Timeout(_CONNECT_S, read=_READ_S)
    headers = {"accept-encoding": "identity", **address.headers}
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, auth=auth, transport=BoundedTransport(limits)
        ) as client,
        streamable_http_client(
            address.url, http_client=client, max_sse_event_size=limits.max_message_bytes
        ) as streams,
    ):
        yield streams

"""A connection to an ASGI application in this process, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.types import ASGIApp

from headrace.client.connection import NO_HEADERS, Headers, Response

_Message = dict[str, Any]


class AppConnection:
    """Calls an ASGI application; see `Connection`."""

    address = ""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def request(
        self, method: str, path: str, body: bytes | None = None, headers: Headers = NO_HEADERS
    ) -> Response:
        request = _Request(self._app, _scope(method, path, headers), body or b"")
        try:
            start = await request.start()
        except asyncio.CancelledError:
            # Wait until it has ended: the service that it uses may be closed next.
            await request.aclose()
            raise
        reply_headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return Response(start["status"], reply_headers, request.read_chunks(), request.aclose)

    async def aclose(self) -> None:
        """Do nothing: the application belongs to the caller."""


class _Request:
    """One request. What the application sends is queued without limit, since it is one answer and
    its reader is in the same process."""

    def __init__(self, app: ASGIApp, scope: _Message, body: bytes) -> None:
        self._sent: asyncio.Queue[_Message | None] = asyncio.Queue()
        self._body: bytes | None = body
        self._is_disconnected = asyncio.Event()
        self._task = asyncio.create_task(self._call(app, scope), name="request")

    async def _call(self, app: ASGIApp, scope: _Message) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self._sent.put_nowait(None)

    async def _receive(self) -> _Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._is_disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self._sent.put_nowait(message)

    async def start(self) -> _Message:
        message = await self._sent.get()
        if message is None:
            await self._task
            raise AssertionError("an application responds or raises")
        return message

    async def read_chunks(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                break

    async def aclose(self) -> None:
        """Disconnect, and wait until the application has ended the request."""
        self._is_disconnected.set()
        await asyncio.wait({self._task})


def _scope(method: str, path: str, headers: Headers) -> _Message:
    route, _, query = path.partition("?")
    all_headers = {"host": "localhost", **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": route,
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in all_headers.items()],
        "client": None,
        "server": ("localhost", 80),
        "state": {},
    }

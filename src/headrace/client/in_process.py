"""A line to an application in this process: the server's own routes, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.types import ASGIApp

from headrace.client.connection import NO_HEADERS, Reply

_Message = dict[str, Any]


class AppLine:
    """Sends each request as the server would that listens."""

    address = ""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Reply:
        """As `Line` has it."""
        request = _Request(self._app, _scope(method, path, headers), body or b"")
        try:
            start = await request.start()
        except asyncio.CancelledError:
            # What it has begun, it ends: what it works with may be closed next.
            await request.aclose()
            raise
        told = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return Reply(start["status"], told, request.pieces(), request.aclose)


class _Request:
    """One request on its way. What the application sends waits without bound: it is an answer,
    and whoever reads it is in the same process."""

    def __init__(self, app: ASGIApp, scope: _Message, body: bytes) -> None:
        self._sent: asyncio.Queue[_Message | None] = asyncio.Queue()
        self._body: bytes | None = body
        self._has_left = asyncio.Event()
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
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self._sent.put_nowait(message)

    async def start(self) -> _Message:
        message = await self._sent.get()
        if message is None:
            await self._task
            raise AssertionError("an application answers or raises")
        return message

    async def pieces(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                break

    async def aclose(self) -> None:
        """Leave; the application is told, and ends."""
        self._has_left.set()
        await asyncio.wait({self._task})


def _scope(method: str, path: str, headers: Mapping[str, str]) -> _Message:
    where, _, query = path.partition("?")
    lines = {"host": "localhost", **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": where,
        "raw_path": where.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in lines.items()],
        "client": None,
        "server": ("localhost", 80),
        "state": {},
    }

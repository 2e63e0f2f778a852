"""The route `/mcp`: Streamable HTTP for MCP clients, behind the checks of all routes."""

from __future__ import annotations

import asyncio
import importlib.util
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from headrace.server.http.doors.mcp.open_stream import serve_until
from headrace.server.http_error import HTTPError
from headrace.server.service import Service

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_MAX_SESSIONS: Final = 1_000
_MAX_SESSIONS_PER_USER: Final = 100
_IDLE_S: Final = 1_800.0


class MCPRoute:
    """The route `/mcp`. Its sessions belong to a task of their own, which the first request starts
    and the end of the service stops."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stop: asyncio.Event | None = None
        self._starting: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._task: asyncio.Task[None] | None = None
        self._draining = asyncio.Event()
        service.runs.on_drain.append(self._draining.set)
        service.on_close.append(self._close)

    @property
    def routes(self) -> list[Route]:
        """The route, as an ASGI application."""
        return [Route("/mcp", _Endpoint(self), methods=["DELETE", "GET", "POST"])]

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client."""
        if importlib.util.find_spec("mcp") is None:
            text = "this server has no MCP: install headrace[mcp]"
            raise HTTPError(404, "no_mcp", text)
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        from headrace.server.http.doors.mcp.agent_server import USER_KEY

        user = await self._service.user(Request(scope))
        if self._service.runs.is_draining:
            raise HTTPError(503, "stopping", "the server is stopping", retry_after_s=1.0)
        # A session can be used only by the user who has opened it.
        token = AccessToken(token="", client_id=user.owner, scopes=[])
        # Spaces around a value are not part of it, but the parser may have left them.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers, USER_KEY: user, "user": AuthenticatedUser(token)}
        manager = await self._open()
        is_ended = asyncio.Event()
        # The stream of a session would keep the server from stopping.
        stops = (is_ended, self._draining) if scope["method"] == "GET" else (is_ended,)
        watcher = self._service.watchers.enter(user)
        watcher.stop = is_ended.set
        try:
            await serve_until(stops, manager.handle_request, scope, receive, send)
        finally:
            watcher.leave()

    async def _open(self) -> StreamableHTTPSessionManager:
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_future()
            self._stop = asyncio.Event()
            self._task = asyncio.create_task(self._run(self._starting, self._stop), name="mcp")
        return await asyncio.shield(self._starting)

    async def _run(
        self, ready: asyncio.Future[StreamableHTTPSessionManager], stop: asyncio.Event
    ) -> None:
        from headrace.server.http.doors.mcp.agent_server import create_server
        from headrace.server.http.doors.mcp.session_manager import SessionManager

        settings, cleanup = self._service.settings, ExitStack()
        try:
            manager = SessionManager(
                create_server(
                    self._service.agents,
                    lambda: nullcontext(self._service),
                    offer=self._service.mcp_offer,
                    cleanup=cleanup,
                ),
                _MAX_SESSIONS_PER_USER if settings.has_users else None,
                session_idle_timeout=_IDLE_S,
                max_sessions=_MAX_SESSIONS,
                max_request_body_size=settings.max_body_bytes,
            )
            async with manager.run():
                ready.set_result(manager)
                await stop.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise
        finally:
            cleanup.close()

    async def _close(self) -> None:
        task, self._task, self._starting = self._task, None, None
        if task is not None and self._stop is not None:
            self._stop.set()
            await asyncio.gather(task, return_exceptions=True)


class _Endpoint:
    """The route as an ASGI application. A class, because Starlette wraps functions."""

    def __init__(self, route: MCPRoute) -> None:
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._route.serve(scope, receive, send)

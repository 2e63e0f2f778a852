"""The server as an ASGI application, to be run by itself or mounted into another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from headrace import __version__
from headrace.engine import Agent
from headrace.errors import UsageError
from headrace.mcp import MCPOffer
from headrace.prices import load_prices
from headrace.server.agent_config import describe_agent
from headrace.server.api import ModelList
from headrace.server.gateway import Gateway, GatewayConfig
from headrace.server.http.direct_writer import allow_direct_writes
from headrace.server.http.doors.ag_ui import AGUI
from headrace.server.http.doors.ai_sdk import AISDKChat
from headrace.server.http.doors.chat_completions import ChatCompletions
from headrace.server.http.doors.mcp import MCPRoute
from headrace.server.http.doors.mcp.tool_names import check_names
from headrace.server.http.doors.messages import Messages
from headrace.server.http.doors.models import Models
from headrace.server.http.doors.responses import Responses
from headrace.server.http.error_map import handle_router_error
from headrace.server.http.middleware.request_log import RequestLog
from headrace.server.http.middleware.security import SecurityMiddleware
from headrace.server.http.openapi import openapi
from headrace.server.http.routes.account import AccountRoutes
from headrace.server.http.routes.chat import Chat
from headrace.server.http.routes.conversations import Conversations
from headrace.server.http.routes.files import FileRoutes
from headrace.server.http.routes.requests import InputRequests
from headrace.server.http.routes.timeline import TimelineRoute
from headrace.server.http.static_ui import ui_routes
from headrace.server.http_error import JSONResponse
from headrace.server.metrics import format_metrics
from headrace.server.runs.titles.title_writer import TitleWriter
from headrace.server.service import Service
from headrace.server.settings import DEFAULT_AGENT, Settings
from headrace.server.storage.files import Files
from headrace.server.storage.log import Log
from headrace.server.storage.open_storage import open_storage
from headrace.server.storage.storage import Storage
from headrace.server.storage.store import Store
from headrace.turn.model import is_rehearsal

if TYPE_CHECKING:
    from headrace.otel import Telemetry

# For the last spans and metrics when the server stops.
_FLUSH_S = 2.0


def create_app(  # noqa: PLR0913 (what a server can be made of)
    agent: Agent | Mapping[str, Agent],
    *,
    data: str | Path,
    address: str = "",
    log: Log | str | None = None,
    store: Store | str | None = None,
    gateway: GatewayConfig | None = None,
    files: Files | None = None,
    telemetry: Telemetry | None = None,
    title_agent: Agent | None = None,
    mcp_offer: MCPOffer | None = None,
    **settings: Any,
) -> Starlette:
    """Create an application that serves an agent, or several by name; the first is the default.

    `data` is the folder in which everything is stored; `settings` are the fields of `Settings`.
    `store` can be the address of a PostgreSQL database instead, which several servers share, and
    `log` that of a Valkey or Redis beside it, for the records of live runs. `log` and `store` can
    also be objects that replace the SQLite storage; give both or none, since the store commits the
    end of a log together with its message. `files` keeps uploads elsewhere. `title_agent` writes
    the titles of conversations, instead of the beginning of the question. `mcp_offer` has tools,
    prompts and resources for MCP clients, beside the agents. `gateway` offers models
    of providers to the clients of other APIs. `telemetry` records runs and HTTP requests with
    OpenTelemetry. The service is at `app.state.service`. An application that mounts this one enters
    it as a context in its own lifespan; otherwise the first request opens it, and nothing drains
    it. Raises `UsageError` if another server uses the folder.
    """
    agents = {DEFAULT_AGENT: agent} if isinstance(agent, Agent) else dict(agent)
    agents = _trace(agents, telemetry)
    options = Settings(data=Path(data), **settings)
    service = Service(
        agents,
        options,
        address=address,
        log=None if isinstance(log, str) else log,
        store=None if isinstance(store, str) else store,
        storage=_find_storage(store, log, options),
        gateway=None if gateway is None else Gateway(gateway),
        telemetry=telemetry,
    )
    service.titles = None if title_agent is None else TitleWriter(title_agent, service.store)
    service.files, service.mcp_offer = files or service.files, mcp_offer
    if mcp_offer is not None:
        check_names(service.agents, mcp_offer)
    app = _create_application(service)
    app.add_middleware(SecurityMiddleware, service=service)
    _add_request_log(app, service)
    app.own_middleware = len(app.user_middleware)
    app.state.service = service
    return app


@asynccontextmanager
async def _keep_open(service: Service) -> AsyncGenerator[None, None]:
    """Open the service, and close it at the end."""
    if not all(is_rehearsal(agent.model) for agent in service.agents.values()):
        # Loaded here, so that no answer waits for it.
        load_prices()
    async with service:
        yield
    if service.telemetry is not None:
        await _flush(service.telemetry)


class _Application(Starlette):
    """The application. Only here can be seen whether another one is around it, or middleware that
    was added later."""

    own_middleware = 0
    """Number of the middleware of the server itself."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if len(self.user_middleware) == self.own_middleware:
            allow_direct_writes(scope, receive, send)
        await super().__call__(scope, receive, send)


def _create_application(service: Service) -> _Application:
    def lifespan(app: Starlette) -> AbstractAsyncContextManager[None]:
        return _keep_open(service)

    handlers: Any = {HTTPException: handle_router_error}
    routes = _create_routes(service)
    return _Application(routes=routes, lifespan=lifespan, exception_handlers=handlers)


def _trace(agents: dict[str, Agent], telemetry: Telemetry | None) -> dict[str, Agent]:
    """Return the agents, with their runs recorded if that is wanted."""
    if telemetry is None:
        return agents
    return {name: telemetry.trace(name, agent) for name, agent in agents.items()}


def _add_request_log(app: Starlette, service: Service) -> None:
    """Log and measure the requests, the latter with OpenTelemetry if it is on."""
    paths = {id(route.endpoint): route.path for route in app.routes if isinstance(route, Route)}

    def find_route(scope: Scope) -> str | None:
        return paths.get(id(scope.get("endpoint")))

    telemetry = service.telemetry
    histograms = service.runs.statistics.histograms if telemetry is None else None
    app.add_middleware(RequestLog, histograms=histograms, find_route=find_route)
    if telemetry is not None:
        from headrace.otel.http_spans import HTTPSpans  # noqa: PLC0415 (an extra)

        app.add_middleware(HTTPSpans, recorder=telemetry.recorder, routes=find_route)


async def _flush(telemetry: Telemetry) -> None:
    """Export the last spans, unless the collector does not answer. The thread is a daemon: those of
    the event loop would keep the process alive until the exporter gives up."""
    loop = asyncio.get_running_loop()
    has_flushed = asyncio.Event()

    def flush() -> None:
        try:
            telemetry.flush(_FLUSH_S)
        finally:
            # The loop may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(has_flushed.set)

    threading.Thread(target=flush, name="headrace-flush", daemon=True).start()
    with suppress(TimeoutError):
        async with asyncio.timeout(_FLUSH_S):
            await has_flushed.wait()


def _find_storage(
    store: Store | str | None, log: Log | str | None, settings: Settings
) -> Storage | None:
    """Return the storage that addresses name, or None if there are none."""
    if isinstance(store, str):
        if log is not None and not isinstance(log, str):
            raise UsageError("beside the address of a database, the log must be an address too")
        return open_storage(store, settings.lease_s, log)
    if isinstance(log, str):
        raise UsageError("a log of its own needs a database beside it: give the address of a store")
    return None


def _create_routes(service: Service) -> list[BaseRoute]:
    return [
        *Chat(service).routes,
        *InputRequests(service).routes,
        *TimelineRoute(service).routes,
        *AISDKChat(service).routes,
        *AGUI(service).routes,
        *Conversations(service).routes,
        *FileRoutes(service).routes,
        *AccountRoutes(service).routes,
        *Models(service).routes,
        *ChatCompletions(service).routes,
        *Messages(service).routes,
        *Responses(service).routes,
        *MCPRoute(service).routes,
        *ui_routes(),
        Route("/api/models", _models(service)),
        Route("/healthz", _health),
        Route("/readyz", _readiness(service)),
        Route("/metrics", _metrics(service)),
        Route("/openapi.json", _openapi),
    ]


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _openapi(request: Request) -> Response:
    return JSONResponse(openapi(__version__, request.scope.get("root_path", "")))


_Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def _models(service: Service) -> _Endpoint:
    async def models(request: Request) -> Response:
        await service.owner(request)
        efforts = service.settings.efforts
        rows = [describe_agent(name, agent, efforts) for name, agent in service.agents.items()]
        return JSONResponse(ModelList(models=rows))

    return models


def _metrics(service: Service) -> _Endpoint:
    async def metrics(request: Request) -> Response:
        await service.user(request, "metrics")
        # Set if this process is one of several workers.
        collect = getattr(request.app.state, "collect_metrics", None)
        text = await (read_metrics(request.app) if collect is None else collect())
        return PlainTextResponse(text)

    return metrics


async def read_metrics(app: Starlette) -> str:
    """Return the metrics of this process."""
    service: Service = app.state.service
    connections = getattr(app.state, "connections", None)
    is_ready = not await service.find_problem()
    return format_metrics(service, connections, is_ready=is_ready)


def _readiness(service: Service) -> _Endpoint:
    async def readiness(request: Request) -> Response:
        problem = await service.find_problem()
        is_ready = not problem
        body: dict[str, Any] = {"is_ready": is_ready}
        if problem:
            body["problem"] = problem
        if not service.settings.has_users:
            body["live_runs"] = service.runs.count
        return JSONResponse(body, 200 if is_ready else 503)

    return readiness

"""The server as an ASGI application, to be run by itself or mounted into another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from headrace import __version__
from headrace.engine import Agent
from headrace.prices import load_prices
from headrace.server.agent_config import describe_agent
from headrace.server.api import ModelList
from headrace.server.gateway import Gateway, GatewayConfig
from headrace.server.http.doors.ag_ui import AGUI
from headrace.server.http.doors.ai_sdk import AISDKChat
from headrace.server.http.doors.chat_completions import ChatCompletions
from headrace.server.http.doors.messages import Messages
from headrace.server.http.doors.models import Models
from headrace.server.http.doors.responses import Responses
from headrace.server.http.error_map import handle_router_error
from headrace.server.http.openapi import openapi
from headrace.server.http.routes.chat import Chat
from headrace.server.http.routes.conversations import Conversations
from headrace.server.http.routes.files import FileRoutes
from headrace.server.http.routes.requests import InputRequests
from headrace.server.http.security import SecurityMiddleware
from headrace.server.http.static_ui import ui_routes
from headrace.server.http_error import JSONResponse
from headrace.server.metrics import format_metrics
from headrace.server.service import Service
from headrace.server.settings import Settings
from headrace.server.storage.files import Files
from headrace.server.storage.log import Log
from headrace.server.storage.open_storage import open_storage
from headrace.server.storage.store import Store
from headrace.turn.model import is_rehearsal


def create_app(
    agent: Agent | Mapping[str, Agent],
    *,
    data: str | Path,
    address: str = "",
    log: Log | None = None,
    store: Store | str | None = None,
    gateway: GatewayConfig | None = None,
    files: Files | None = None,
    **settings: Any,
) -> Starlette:
    """Create an application that serves an agent, or several by name; the first is the default.

    `data` is the folder in which everything is stored; `settings` are the fields of `Settings`.
    `store` can be the address of a PostgreSQL database instead, which several servers share. `log`
    and `store` can also be objects that replace the SQLite storage; give both or none, since the
    store commits the end of a log together with its message. `files` keeps uploads elsewhere.
    `gateway` offers models of providers to the clients of other APIs. The service is at
    `app.state.service`. An application that mounts this one enters it as a context in its own
    lifespan; otherwise the first request opens it, and nothing drains it. Raises `UsageError` if
    another server uses the folder.
    """
    agents = {"default": agent} if isinstance(agent, Agent) else dict(agent)
    options = Settings(data=Path(data), **settings)
    service = Service(
        agents,
        options,
        address=address,
        log=log,
        store=None if isinstance(store, str) else store,
        storage=open_storage(store, options.lease_s) if isinstance(store, str) else None,
        gateway=None if gateway is None else Gateway(gateway),
    )
    if files is not None:
        service.files = files

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        if not all(is_rehearsal(agent.model) for agent in agents.values()):
            # Loaded here, so that no answer waits for it.
            load_prices()
        async with service:
            yield

    routes = _create_routes(service)
    handlers: Any = {HTTPException: handle_router_error}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.add_middleware(SecurityMiddleware, service=service)
    app.state.service = service
    return app


def _create_routes(service: Service) -> list[BaseRoute]:
    return [
        *Chat(service).routes,
        *InputRequests(service).routes,
        *AISDKChat(service).routes,
        *AGUI(service).routes,
        *Conversations(service).routes,
        *FileRoutes(service).routes,
        *Models(service).routes,
        *ChatCompletions(service).routes,
        *Messages(service).routes,
        *Responses(service).routes,
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
        connections = getattr(request.app.state, "connections", None)
        is_ready = not await service.find_problem()
        return PlainTextResponse(format_metrics(service, connections, is_ready=is_ready))

    return metrics


def _readiness(service: Service) -> _Endpoint:
    async def readiness(request: Request) -> Response:
        problem = await service.find_problem()
        is_ready = not problem
        body: dict[str, Any] = {"is_ready": is_ready}
        if problem:
            body["problem"] = problem
        if not service.settings.needs_token:
            body["live_runs"] = service.runs.count
        return JSONResponse(body, 200 if is_ready else 503)

    return readiness

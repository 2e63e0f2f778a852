"""The server as an ASGI application: to be run by itself, or mounted into another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headrace import __version__
from headrace.engine import Agent
from headrace.server.http.openapi import openapi
from headrace.server.http.routes.chat import Chat
from headrace.server.http.routes.conversations import Conversations
from headrace.server.http.routes.models import Models
from headrace.server.http.security import Gate
from headrace.server.http.static_ui import page_routes
from headrace.server.http_error import JSON, refused
from headrace.server.metrics import metrics
from headrace.server.service import Service
from headrace.server.settings import Settings


def create_app(
    agent: Agent | Mapping[str, Agent], *, data: str | Path, address: str = "", **settings: Any
) -> Starlette:
    """An application that serves an agent, or several by name, the first by default.

    `data` is the folder that everything is kept in; `settings` are those of `Settings`. The
    service is at `app.state.service`. An application that mounts this one enters it as a context
    in its own lifespan; where it does not, the first request opens it, and nothing drains it.
    """
    agents = {"default": agent} if isinstance(agent, Agent) else dict(agent)
    service = Service(agents, Settings(data=Path(data), **settings), address=address)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        async with service:
            yield

    routes = [
        *Chat(service).routes,
        *Conversations(service).routes,
        *Models(service).routes,
        *page_routes(),
        Route("/healthz", _health),
        Route("/readyz", _readiness(service)),
        Route("/metrics", _metrics(service)),
        Route("/openapi.json", _openapi),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: refused})
    app.add_middleware(Gate, service=service)
    app.state.service = service
    return app


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _openapi(request: Request) -> Response:
    return JSON(openapi(__version__, request.scope.get("root_path", "")))


def _metrics(service: Service) -> Any:
    async def told(request: Request) -> Response:
        await service.owner(request)
        return PlainTextResponse(metrics(service))

    return told


def _readiness(service: Service) -> Any:
    async def ready(request: Request) -> Response:
        is_ready = service.is_ready and not service.runs.is_draining
        told: dict[str, Any] = {"is_ready": is_ready}
        if not service.settings.needs_token:
            told["live_runs"] = service.runs.count
        return JSON(told, 200 if is_ready else 503)

    return ready

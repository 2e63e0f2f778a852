"""The server as an ASGI application: to be run by itself, or mounted into another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headrace import __version__
from headrace.engine import Agent
from headrace.server.gate import Gate
from headrace.server.metrics import metrics
from headrace.server.openapi import openapi
from headrace.server.page import PAGE, SCRIPT, STYLE
from headrace.server.problem import JSON
from headrace.server.routes.chat import Chat
from headrace.server.routes.conversations import Conversations
from headrace.server.service import Service
from headrace.server.settings import Settings


def create_app(
    agent: Agent | Mapping[str, Agent], *, data: str | Path, address: str = "", **settings: Any
) -> Starlette:
    """An application that serves an agent, or several by name, the first by default.

    `data` is the folder that everything is kept in; `settings` are those of `Settings`. The
    service is at `app.state.service` while the application runs.
    """
    agents = {"default": agent} if isinstance(agent, Agent) else dict(agent)
    service = Service(agents, Settings(data=Path(data), **settings), address=address)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        await service.open()
        try:
            yield
        finally:
            await service.close()

    routes = [
        *Chat(service).routes,
        *Conversations(service).routes,
        Route("/", _page),
        Route("/page.js", _script),
        Route("/page.css", _style),
        Route("/healthz", _health),
        Route("/readyz", _readiness(service)),
        Route("/metrics", _metrics(service)),
        Route("/openapi.json", _openapi),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.add_middleware(Gate, settings=service.settings)
    app.state.service = service
    return app


async def _page(request: Request) -> Response:
    return Response(PAGE, media_type="text/html")


async def _script(request: Request) -> Response:
    return Response(SCRIPT, media_type="text/javascript")


async def _style(request: Request) -> Response:
    return Response(STYLE, media_type="text/css")


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _openapi(request: Request) -> Response:
    return JSON(openapi(__version__))


def _metrics(service: Service) -> Any:
    async def told(request: Request) -> Response:
        return PlainTextResponse(metrics(service))

    return told


def _readiness(service: Service) -> Any:
    async def ready(request: Request) -> Response:
        is_ready = service.is_ready and not service.runs.is_draining
        return JSON(
            {"is_ready": is_ready, "live_runs": service.runs.count}, 200 if is_ready else 503
        )

    return ready

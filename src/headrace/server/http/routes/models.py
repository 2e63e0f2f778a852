"""Models: what a client may choose from."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.engine import Agent
from headrace.server.http_error import JSON
from headrace.server.service import Service
from headrace.turn.model import is_rehearsal, name_of


class ServedModel(msgspec.Struct, frozen=True, kw_only=True):
    """One of the agents that a server has."""

    name: str
    """What a request calls it by."""
    model: str
    """The provider and its model."""
    tools: list[str]
    efforts: tuple[str, ...]
    """What a request may ask of it."""
    is_rehearsal: bool
    """Whether it is the stand-in, which is said wherever it shows."""


class Models:
    """The route `/api/models`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [Route("/api/models", self.all, methods=["GET"])]

    async def all(self, request: Request) -> Response:
        """All of them; the first is the one that a request without a name gets."""
        await self._service.owner(request)
        efforts = self._service.settings.efforts
        models = [_served(*one, efforts) for one in self._service.agents.items()]
        return JSON({"models": models})


def _served(name: str, agent: Agent, efforts: tuple[str, ...]) -> ServedModel:
    return ServedModel(
        name=name,
        model=name_of(agent.model),
        tools=list(agent.tools.names),
        efforts=efforts,
        is_rehearsal=is_rehearsal(agent.model),
    )

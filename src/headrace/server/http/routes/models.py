"""The route `/api/models`: the models that a client can choose from."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.server.agent_config import describe_agent
from headrace.server.api import ModelList
from headrace.server.http_error import JSONResponse
from headrace.server.service import Service


class Models:
    """The route `/api/models`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [Route("/api/models", self.list_models, methods=["GET"])]

    async def list_models(self, request: Request) -> Response:
        """List all models; the first is the default."""
        await self._service.owner(request)
        efforts, agents = self._service.settings.efforts, self._service.agents
        models = [describe_agent(name, agent, efforts) for name, agent in agents.items()]
        return JSONResponse(ModelList(models=models))

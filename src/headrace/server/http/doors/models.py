"""The route `/v1/models`: what the clients of OpenAI's and Anthropic's APIs can ask for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headrace.server.http_error import JSONResponse
from headrace.server.service import Service

# Agents have no date; clients expect one.
_CREATED_S = 0


class Models:
    """The routes `/v1/models` and `/v1/models/{name}`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/v1/models", self.list_all, methods=["GET"]),
            Route("/v1/models/{name:path}", self.show, methods=["GET"]),
        ]

    async def list_all(self, request: Request) -> Response:
        """List what can be asked for."""
        names = self._service.models.list_names(await self._service.user(request))
        if not _is_anthropic(request):
            return JSONResponse({"object": "list", "data": [_describe(name) for name in names]})
        rows = [_describe_for_anthropic(name) for name in names]
        ends = {"first_id": names[0], "last_id": names[-1]} if names else {}
        return JSONResponse({"data": rows, "has_more": False, **ends})

    async def show(self, request: Request) -> Response:
        """Describe one of them."""
        user = await self._service.user(request)
        name = self._service.models.find_offer(user, request.path_params["name"]).name
        describe = _describe_for_anthropic if _is_anthropic(request) else _describe
        return JSONResponse(describe(name))


def _is_anthropic(request: Request) -> bool:
    return "anthropic-version" in request.headers


def _describe(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED_S, "owned_by": "headrace"}


def _describe_for_anthropic(name: str) -> dict[str, Any]:
    created_at = datetime.fromtimestamp(_CREATED_S, UTC).isoformat().replace("+00:00", "Z")
    return {"id": name, "type": "model", "display_name": name, "created_at": created_at}

"""Providers for a gateway: a real HTTP server that plays scripts in every grammar."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headrace.errors import RequestFailed
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.transport import ScriptedStream, ScriptedTransport
from headrace.transport.transport import HTTPCall
from tests.server.serving import running

KEY = "sk-the-operators-key"
PROVIDERS = {
    "chat": "openai-chat",
    "responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "cohere": "cohere",
}
"""A provider of the catalog for each grammar."""
_TYPES = {"ollama": "application/x-ndjson"}


class Upstream:
    """Plays scripts for requests to `/to-{dialect}/…`."""

    def __init__(self, play: Callable[[Heard], Any]) -> None:
        self._play = play
        self._transports: dict[str, ScriptedTransport] = {}
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        """Path, headers and body of each request."""
        self.sent: list[bytes] = []
        """What the last answer has sent."""
        self.open_streams = 0
        self.url = ""

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        dialect = request.path_params["dialect"]
        self.requests.append((request.url.path, dict(request.headers), msgspec.json.decode(body)))
        transport = self._transports.setdefault(
            dialect, ScriptedTransport(self._play, dialect=dialect)
        )
        call = HTTPCall(url=str(request.url), headers={}, body=body)
        try:
            stream = await transport.open(call)
        except RequestFailed as refused:
            return Response(str(refused), refused.status or 500)
        media_type = _TYPES.get(dialect, "text/event-stream")
        return StreamingResponse(self._stream(stream), media_type=media_type)

    async def _stream(self, stream: ScriptedStream) -> AsyncIterator[bytes]:
        self.open_streams += 1
        self.sent = []
        try:
            async for part in stream:
                self.sent.append(part)
                yield part
        finally:
            self.open_streams -= 1
            await stream.aclose()

    def config(self, **more: str) -> str:
        """Return a gateway file in which each grammar is the name of a model."""
        lines = [f'[models.{d}]\nmodel = "{p}:scripted"' for d, p in PROVIDERS.items()]
        lines += [
            f'[providers.{p}]\nbase_url = "{self.url}/to-{d}"\nattempts = 1'
            + ('\napi_key_env = "OPERATOR_KEY"' if p != "ollama" else "")
            for d, p in PROVIDERS.items()
        ]
        return "\n".join([*lines, *more.values()])


@asynccontextmanager
async def upstream(play: Callable[[Heard], Any]) -> AsyncIterator[Upstream]:
    """Serve the providers on this machine."""
    providers = Upstream(play)
    routes = [Route("/to-{dialect}/{rest:path}", providers.answer, methods=["POST"])]
    async with running(Starlette(routes=routes)) as url:
        providers.url = url
        yield providers

"""A real server on loopback, in the test's own event loop, and a client for its streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn

from headrace.engine import Agent
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.listener import open_listener
from headrace.server.process import _Server
from headrace.server.service import Service
from headrace.transport.retry import NEVER


@dataclass
class Served:
    """A server and a session of a client."""

    url: str
    service: Service
    http: aiohttp.ClientSession
    transport: Any = None

    async def ask(self, message: str, **body: Any) -> tuple[str, str, bytes]:
        """The event's id, the conversation's, and the whole stream."""
        async with self.open(message, **body) as response:
            assert response.status == 200, await response.text()
            data = await response.read()
            return response.headers["x-event-id"], response.headers["x-conversation-id"], data

    def open(self, message: str | None, headers: Any = None, **body: Any) -> Any:
        query = f"?protocol={body.pop('protocol', 'thinking')}"
        sent = body if message is None else {"message": message, **body}
        return self.http.post(f"{self.url}/api/chat{query}", json=sent, headers=headers)

    def resume(self, event_id: str, after: str = "0", protocol: str = "thinking") -> Any:
        return self.http.get(
            f"{self.url}/api/chat/{event_id}/stream?protocol={protocol}",
            headers={"last-event-id": after},
        )

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        async with self.http.get(f"{self.url}{path}", **options) as response:
            return response.status, await response.json()

    async def idle(self) -> None:
        """Until no run is live."""
        for _ in range(2_000):
            if not self.service.runs.count:
                return
            await asyncio.sleep(0.005)
        raise AssertionError("a run does not end")


@asynccontextmanager
async def running(app: Any, **options: Any) -> AsyncIterator[str]:
    """Any application, at this address, until the block is left."""
    listener = open_listener("127.0.0.1", 0)
    config = uvicorn.Config(app, log_level="warning", access_log=False, **options)
    server = _Server(config)
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.002)
        assert not task.done()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def served(agent: Any, data: Path, **settings: Any) -> AsyncIterator[Served]:
    """Serve until the block is left."""
    app = create_app(agent, data=data, **settings)
    service: Service = app.state.service
    async with (
        running(app, root_path=service.settings.prefix) as url,
        aiohttp.ClientSession() as http,
    ):
        try:
            yield Served(url, service, http)
        finally:
            await service.runs.drain(0.2)


def scripted(*turns: Any, **options: Any) -> Agent:
    """An agent that plays these turns, for each run from the first."""
    tools = options.pop("tools", ())

    def play(heard: Any) -> Any:
        return turns[min(len(heard.since_user), len(turns) - 1)]

    transport = ScriptedTransport(play, dialect="chat", **options)
    return Agent("openai-chat:test", transport=transport, api_key="k", tools=tools, policy=NEVER)


def frames(data: bytes) -> list[tuple[str, str]]:
    """(id, payload) of each event; comments are left out."""
    found = []
    for block in data.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if fields:
            found.append((fields["id"], fields["data"]))
    return found

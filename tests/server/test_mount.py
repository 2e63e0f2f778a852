"""Inside another application, and behind a prefix: the same answers, and addresses that are
right."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import fastapi
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from headrace.rehearsal.script import say, turn
from headrace.server import create_app
from tests.server.serving import Served, frames, running, scripted, served

SLOW = turn(say("one two three four five six seven eight"), pace_s=0.05)


def starlette_with(chat: Starlette, **options: Any) -> Any:
    return Starlette(routes=[Mount("/chat", chat)], **options)


def fastapi_with(chat: Starlette, **options: Any) -> Any:
    app = fastapi.FastAPI(**options)
    app.mount("/chat", chat)
    return app


_NOTE = b"a note\n" * 300_000
PARENTS = {"starlette": starlette_with, "fastapi": fastapi_with}


@asynccontextmanager
async def mounted(parent: str, data: Path, lifespan: str, *turns: Any) -> AsyncIterator[Served]:
    """Under /chat, with the parent's lifespan or without one."""
    chat = create_app(scripted(*turns or (turn(say("Hi.")),)), data=data, drain_s=0.1)
    service = chat.state.service
    options: Any = {"lifespan": lambda _: service} if lifespan == "entered" else {}
    async with running(PARENTS[parent](chat, **options)) as url, aiohttp.ClientSession() as http:
        yield Served(f"{url}/chat", service, http)
    if lifespan != "entered":
        await service.close()


@pytest.mark.parametrize("lifespan", ["entered", "left out"])
@pytest.mark.parametrize("parent", PARENTS)
def test_mounted_it_answers_as_it_does_alone(parent: str, lifespan: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with mounted(parent, tmp_path, lifespan) as server:
            event_id, conversation_id, data = await server.ask("Go.", protocol="ux")
            assert '"type":"message_final"' in frames(data)[-1][1]
            async with server.resume(event_id, protocol="ux") as response:
                assert await response.read() == data
            status, found = await server.get(f"/api/conversations/{conversation_id}")
            assert (status, len(found["messages"])) == (200, 2)
            status, found = await server.get("/api/nothing")
            assert (status, found["error"]["code"]) == (404, "not_found")
            # Limits and the shape of errors depend on the address inside of the application.
            kind = {"content-type": "application/octet-stream"}
            async with server.http.post(
                f"{server.url}/api/files?name=a.txt", data=io.BytesIO(_NOTE), headers=kind
            ) as response:
                assert response.status in (200, 201), await response.text()
            async with server.http.post(f"{server.url}/v1/chat/completions", json=[]) as response:
                assert (await response.json())["error"]["type"] == "invalid_request_error"

    asyncio.run(main())


def test_the_first_requests_open_it_once_and_recover(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            mounted("fastapi", tmp_path, "entered", SLOW) as server,
            server.open("Go.") as response,
        ):
            event_id = response.headers["x-event-id"]
        async with mounted("starlette", tmp_path, "left out") as server:
            assert not server.service.is_ready
            asked = await asyncio.gather(*(server.ask("Go.") for _ in range(10)))
            assert len({event for event, _, _ in asked}) == 10
            async with server.resume(event_id) as response:
                assert frames(await response.read())[-1][1] == "[DONE]"

    asyncio.run(main())


def test_a_lifespan_that_enters_it_drains_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with mounted("fastapi", tmp_path, "entered", SLOW) as server:
            async with server.open("Go.") as response:
                event_id = response.headers["x-event-id"]
                await response.content.readany()
            assert server.service.runs.count == 1
        assert server.service.runs.count == 0
        async with (
            mounted("fastapi", tmp_path, "entered") as server,
            server.resume(event_id, protocol="ux") as response,
        ):
            assert '"category":"interrupted"' in frames(await response.read())[-1][1]

    asyncio.run(main())


@pytest.mark.parametrize("parent", PARENTS)
def test_the_document_of_a_mounted_one_tells_where_it_is(parent: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with mounted(parent, tmp_path, "entered") as server:
            _, told = await server.get("/openapi.json")
            assert told["servers"] == [{"url": "/chat"}]

    asyncio.run(main())


def test_behind_a_proxy_that_takes_a_prefix_away_addresses_are_right(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say("Hi.")))
        async with served(agent, tmp_path, prefix="/chat") as server:
            _, told = await server.get("/openapi.json")
            assert told["servers"] == [{"url": "/chat"}]
            _, _, data = await server.ask("Go.", protocol="ux")
            assert '"type":"message_final"' in frames(data)[-1][1]
            where = f"{server.url}/static"
            async with server.http.get(where, allow_redirects=False) as response:
                assert response.headers.get("location", "/chat/").endswith("/chat/static/")

    asyncio.run(main())

"""Headrace as an MCP server: agents as tools and conversations as resources, on stdio and HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
import uvicorn

from headrace import Agent
from headrace.client import AsyncClient
from headrace.events import ToolProgress
from headrace.mcp import MCP
from headrace.rehearsal.script import call, say, stall, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.http.doors.mcp.tool_names import name_agents
from headrace.server.listener import open_listener
from headrace.server.process import serve as serve_here
from headrace.tools import ToolContext, ToolReturn, tool
from tests.mcp.play import MODEL

START = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
HEADRACE = (sys.executable, "-m", "headrace")


@dataclass
class Weather:
    """The weather of a place."""

    place: str
    degrees: int


def _agent(*turns: Any, **options: Any) -> Agent:
    script = ScriptedTransport(list(turns))
    return Agent(MODEL, transport=script, api_key="k", **options)


@asynccontextmanager
async def serve(agents: Any, data: Path, **settings: Any) -> AsyncIterator[tuple[str, Any]]:
    """Serve agents on a real port, and yield the address and the service."""

    listener = open_listener("127.0.0.1", 0)
    app = create_app(agents, data=data, **settings)
    config = uvicorn.Config(app, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", app.state.service
    finally:
        server.should_exit = True
        await task


async def _call(server: MCP, name: str, **arguments: Any) -> tuple[ToolReturn, list[ToolProgress]]:
    tools = {one.pin.own_name: one for one in await server.list_tools()}
    assert server.error is None
    reports: list[ToolProgress] = []
    return await tools[name].execute(arguments, ToolContext(report=reports.append)), reports


def test_an_agent_is_a_tool_with_progress_and_a_structured_answer(tmp_path: Path):
    @tool
    def look_up(place: str) -> int:
        """Look up the temperature."""
        return 21

    weather = Weather("Bonn", 21)
    agent = _agent(
        turn(call("look_up", place="Bonn")),
        turn(say(msgspec.json.encode(weather).decode())),
        tools=[look_up],
        output_type=Weather,
        description="Knows the weather.",
    )

    async def main() -> None:
        async with serve({"weather": agent}, tmp_path) as (url, _):
            server = MCP(f"{url}/mcp", name="headrace", is_trusted=True)
            (listed,) = await server.list_tools()
            assert listed.description == "Knows the weather."
            result, reports = await _call(server, "weather", task="How warm is it in Bonn?")
            await server.aclose()
        assert not result.is_error
        assert result.content[-1] == msgspec.convert(
            {"type": "json", "value": {"place": "Bonn", "degrees": 21}}, type(result.content[-1])
        )
        assert reports, "the tool of the agent is a status phrase"

    asyncio.run(main())


def test_a_failure_of_an_agent_is_an_error_result(tmp_path: Path):
    async def main() -> None:
        async with serve(_agent(), tmp_path) as (url, _):
            server = MCP(f"{url}/mcp", name="headrace")
            result, _ = await _call(server, "ask", task="Go.")
            assert result.is_error
            await server.aclose()

    asyncio.run(main())


def test_a_cancelled_call_ends_the_run(tmp_path: Path):
    async def main() -> None:
        async with serve(_agent(turn(say("Wait"), stall())), tmp_path) as (url, service):
            server = MCP(f"{url}/mcp", name="headrace")
            tools = await server.list_tools()
            running = asyncio.create_task(tools[0].execute({"task": "Go."}, ToolContext()))
            while service.unstored.count == 0:
                await asyncio.sleep(0.01)
            running.cancel()
            while service.unstored.count:
                await asyncio.sleep(0.01)
            await server.aclose()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_access_tokens_are_required_and_conversations_belong_to_their_user(tmp_path: Path):
    async def main() -> None:
        agent = Agent("rehearsal:instant")
        async with serve(agent, tmp_path, needs_token=True) as (url, service):
            anna = service.access_tokens.create("anna", "test", 1)
            bert = service.access_tokens.create("bert", "test", 1)
            async with httpx2.AsyncClient() as http:
                assert (await http.post(f"{url}/mcp", json={})).status_code == 401
            async with (
                AsyncClient(url, access_token=anna) as client,
                client.ask("Hello there!") as answer,
            ):
                await answer.wait()
            found = {}
            for name, token in (("anna", anna), ("bert", bert)):
                headers = {"Authorization": f"Bearer {token}"}
                server = MCP(f"{url}/mcp", name="headrace", headers=headers)
                found[name] = await server.list_resources()
                if name == "bert":
                    with pytest.raises(Exception, match="no resource with this URI"):
                        await server.read_resource(found["anna"][0].uri)
                else:
                    (text,) = await server.read_resource(found[name][0].uri)
                    assert "Hello there!" in getattr(text, "text", "")
                await server.aclose()
            assert [one.name for one in found["anna"]] == ["Hello there!"]
            assert found["bert"] == []

    asyncio.run(main())


def test_other_sites_and_hosts_are_refused(tmp_path: Path):
    async def main() -> None:
        async with (
            serve(Agent("rehearsal:instant"), tmp_path) as (url, _),
            httpx2.AsyncClient() as http,
        ):
            evil = {"Origin": "https://evil.example"}
            assert (await http.post(f"{url}/mcp", json={}, headers=evil)).status_code == 403
            assert (
                await http.post(f"{url}/mcp", json={}, headers={"Host": "evil.example"})
            ).status_code == 421

    asyncio.run(main())


def test_a_session_of_one_user_cannot_be_used_by_another(tmp_path: Path):
    async def main() -> None:
        async with (
            serve(Agent("rehearsal:instant"), tmp_path, needs_token=True) as (url, service),
            httpx2.AsyncClient() as http,
        ):
            anna = service.access_tokens.create("anna", "test", 1)
            bert = service.access_tokens.create("bert", "test", 1)
            first = {**ACCEPT, "Authorization": f"Bearer {anna}"}
            opened = await http.post(f"{url}/mcp", json=START, headers=first)
            assert opened.status_code == 200
            session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            other = {**ACCEPT, **session, "Authorization": f"Bearer {bert}"}
            assert (await http.post(f"{url}/mcp", json=ping, headers=other)).status_code == 404
            own = {**first, **session}
            assert (await http.post(f"{url}/mcp", json=ping, headers=own)).status_code == 200

    asyncio.run(main())


def test_the_stream_of_a_session_ends_when_the_token_is_revoked(tmp_path: Path):
    async def main() -> None:
        async with (
            serve(Agent("rehearsal:instant"), tmp_path, needs_token=True) as (url, service),
            httpx2.AsyncClient(timeout=60) as http,
        ):
            token = service.access_tokens.create("anna", "test", 1)
            headers = {**ACCEPT, "Authorization": f"Bearer {token}"}
            opened = await http.post(f"{url}/mcp", json=START, headers=headers)
            headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
            async with http.stream("GET", f"{url}/mcp", headers=headers) as stream:
                assert stream.status_code == 200
                (info,) = service.access_tokens.all()
                assert service.access_tokens.revoke(info.id)
                async with asyncio.timeout(60):
                    await stream.aread()
            assert len(service.watchers) == 0

    asyncio.run(main())


def test_a_user_cannot_take_the_sessions_of_all_others(tmp_path: Path):
    async def main() -> None:
        async with (
            serve(Agent("rehearsal:instant"), tmp_path, needs_token=True) as (url, service),
            httpx2.AsyncClient() as http,
        ):

            async def count_sessions(user: str, tries: int) -> int:
                secret = service.access_tokens.create(user, "test", 1)
                headers = {**ACCEPT, "Authorization": f"Bearer {secret}"}
                got = [
                    (await http.post(f"{url}/mcp", json=START, headers=headers)).status_code
                    for _ in range(tries)
                ]
                return got.count(200)

            assert await count_sessions("anna", 105) == 100
            assert await count_sessions("anna", 1) == 0, "another access token is no other user"
            assert await count_sessions("bert", 1) == 1

    asyncio.run(main())


def test_a_server_that_stops_ends_the_streams_of_sessions(tmp_path: Path):
    async def main() -> None:
        listener = open_listener("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        app = create_app(Agent("rehearsal:instant"), data=tmp_path)
        ready = asyncio.Event()
        serving = asyncio.create_task(serve_here(app, listener, ready=ready.set))
        await ready.wait()
        async with httpx2.AsyncClient() as http:
            opened = await http.post(url, json=START, headers=ACCEPT)
            session = {**ACCEPT, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            async with http.stream("GET", url, headers=session) as stream:
                os.kill(os.getpid(), signal.SIGTERM)
                # A stream that is cut off would raise.
                assert stream.status_code == 200
                await stream.aread()
        await serving

    asyncio.run(main())


def test_agents_whose_names_are_alike_are_all_offered():
    agent = Agent("rehearsal:instant")
    given = dict.fromkeys(("default", "ask", "a b", "a_b", "x" * 70, "x" * 71), agent)
    names = name_agents(given)
    assert list(names.values()) == list(given)
    assert list(names)[:4] == ["ask", "ask_2", "a_b", "a_b_2"]
    assert all(len(name) <= 64 for name in names)


def test_the_command_tells_the_client_that_a_server_uses_the_folder(tmp_path: Path):
    async def main() -> str:
        agent = Agent("rehearsal:instant")
        async with serve(agent, tmp_path, address="http://127.0.0.1:1"):
            server = MCP([*HEADRACE, "mcp", "--data", str(tmp_path)], name="headrace")
            try:
                result, _ = await _call(server, "ask", task="Hi.")
                return str(result.content)
            finally:
                await server.aclose()

    assert "connect to http://127.0.0.1:1/mcp" in asyncio.run(main())


def test_the_command_serves_an_agent_on_stdio(tmp_path: Path):
    async def main() -> None:
        command = [*HEADRACE, "mcp", "--data", str(tmp_path)]
        server = MCP(command, name="headrace")
        result, reports = await _call(server, "ask", task="What is 12 * 34?")
        assert "408" in str(result.content)
        assert reports
        await server.aclose()

    asyncio.run(main())

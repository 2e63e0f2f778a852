"""Responses over a WebSocket: the same checks as over HTTP, and one answer after the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from headrace.server import create_app
from headrace.server.connections import (
    ConnectionRegistry,
    create_protocol_class,
    create_websocket_class,
)
from headrace.server.service import Service
from headrace.server.storage.access_tokens import AccessTokens
from headrace.testing import call, say, stall, turn
from tests.doors.event_loop import in_loop
from tests.doors.responses_frames import ENDS, check_stream
from tests.doors.test_responses import WEATHER, playing
from tests.server.serving import running
from tests.server.tokens import create_token


@asynccontextmanager
async def site(
    agent: Any, path: Path, parser: Any = None, **settings: Any
) -> AsyncGenerator[tuple[str, Service, ConnectionRegistry], None]:
    """A server with the limits of `headrace serve`; the address is that of its WebSocket."""
    app = create_app(agent, data=path, **settings)
    service: Service = app.state.service
    registry = ConnectionRegistry(service.settings, 1_000)
    protocols = {
        "http": create_protocol_class(registry, parser),
        "ws": create_websocket_class(registry),
    }
    async with running(app, **protocols) as url:
        yield f"{url.replace('http', 'ws')}/v1/responses", service, registry
        await service.runs.drain(0.2)


async def ask(socket: ClientConnection, **body: Any) -> list[dict[str, Any]]:
    """Send a request and return the events of its answer, or the error."""
    await socket.send(json.dumps({"type": "response.create", "model": "default", **body}))
    events: list[dict[str, Any]] = []
    while True:
        events.append(json.loads(await socket.recv()))
        if events[-1]["type"] in (*ENDS, "error"):
            return events


async def read_all(socket: ClientConnection) -> None:
    while True:
        await socket.recv()


@pytest.mark.parametrize("parser", ["h11", "httptools"])
@in_loop
async def test_one_answer_after_the_other(tmp_path: Path, parser: str) -> None:
    agent = playing(turn(say("One.")), turn(say("Two.")), turn(say("Three.")))
    async with site(agent, tmp_path, parser) as (url, service, registry):
        async with connect(url) as socket:
            first = await ask(socket, input="a", store=False)
            check_stream(first)
            again = {"previous_response_id": first[-1]["response"]["id"]}
            second = await ask(socket, input="b", store=False, **again)
            check_stream(second)
            assert second[-1]["response"]["output"][-1]["content"][0]["text"] == "Two."
            assert not await service.store.conversations("local")
            stored = await ask(socket, input="c")
            check_stream(stored)
            assert len(registry) == 1
        assert len(await service.store.conversations("local")) == 1
        while len(registry):
            await asyncio.sleep(0.005)


@in_loop
async def test_requests_that_come_early_wait(tmp_path: Path) -> None:
    agent = playing(turn(say("One.", deltas=2), pace_s=0.02), turn(say("Two.")))
    async with site(agent, tmp_path) as (url, _, _), connect(url) as socket:
        body = {"type": "response.create", "model": "default", "input": "?", "store": False}
        await socket.send(json.dumps(body))
        await socket.send(json.dumps(body))
        kinds: list[str] = []
        while kinds.count("response.completed") < 2:
            kinds.append(json.loads(await socket.recv())["type"])
        assert kinds.index("response.completed") < len(kinds) - 1 - kinds[::-1].index(
            "response.created"
        )


@in_loop
async def test_calls_of_the_client_without_storing(tmp_path: Path) -> None:
    agent = playing(turn(call("weather", place="Oslo")), turn(say("Cold.")))
    async with site(agent, tmp_path) as (url, _, _), connect(url) as socket:
        first = (await ask(socket, input="?", tools=[WEATHER], store=False))[-1]["response"]
        result = {
            "type": "function_call_output",
            "call_id": first["output"][-1]["call_id"],
            "output": "4",
        }
        second = await ask(
            socket, input=[result], tools=[WEATHER], store=False, previous_response_id=first["id"]
        )
        assert second[-1]["response"]["output"][-1]["content"][0]["text"] == "Cold."


@in_loop
async def test_a_client_that_leaves_ends_its_answer(tmp_path: Path) -> None:
    for store in (True, False):
        agent = playing(turn(say("Half"), stall()))
        async with site(agent, tmp_path / str(store)) as (url, service, _):
            async with connect(url) as socket:
                body = {"type": "response.create", "model": "default", "input": "?"}
                await socket.send(json.dumps({**body, "store": store}))
                while json.loads(await socket.recv())["type"] != "response.output_text.delta":
                    pass
                assert service.runs.count + service.unstored.count == 1
            while service.runs.count + service.unstored.count:
                await asyncio.sleep(0.005)


@in_loop
async def test_errors_leave_the_connection_open(tmp_path: Path) -> None:
    async with site(playing(turn(say("Hi."))), tmp_path) as (url, _, _), connect(url) as socket:
        await socket.send("{")
        assert json.loads(await socket.recv())["error"]["code"] == "invalid_request"
        (missing,) = await ask(socket, input="?", model="other")
        assert (missing["status"], missing["error"]["code"]) == (404, "model_not_found")
        (refused,) = await ask(socket, input="?", background=True)
        assert refused["error"]["param"] == "background"
        check_stream(await ask(socket, input="?", store=False))


@in_loop
async def test_hosts_origins_and_tokens_are_checked(tmp_path: Path) -> None:
    agent = playing(turn(say("Hi.")))
    async with site(agent, tmp_path, needs_token=True) as (url, service, _):
        token = create_token(service, "ada", "test", 0)
        bearer = {"Authorization": f"Bearer {token}"}
        refused: list[tuple[dict[str, str], int]] = [
            ({}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({**bearer, "Origin": "https://evil.example"}, 403),
            ({**bearer, "Sec-Fetch-Site": "cross-site"}, 403),
        ]
        for headers, status in refused:
            with pytest.raises(InvalidStatus) as denied:
                await connect(url, additional_headers=headers)
            assert denied.value.response.status_code == status
        port = int(url.rpartition(":")[2].partition("/")[0])
        elsewhere = f"ws://evil.example:{port}/v1/responses"
        with pytest.raises(InvalidStatus) as denied:
            await connect(elsewhere, host="127.0.0.1", port=port, additional_headers=bearer)
        assert denied.value.response.status_code == 421
        async with connect(url, additional_headers=bearer) as socket:
            check_stream(await ask(socket, input="?"))
        assert len(await service.store.conversations("ada")) == 1


@in_loop
async def test_a_revoked_token_ends_the_connection(tmp_path: Path) -> None:
    agent = playing(turn(say("Half"), stall()))
    async with site(agent, tmp_path, needs_token=True) as (url, service, _):
        token = create_token(service, "ada", "test", 0)
        headers = {"Authorization": f"Bearer {token}"}
        async with connect(url, additional_headers=headers) as socket:
            body = {"type": "response.create", "model": "default", "input": "?"}
            await socket.send(json.dumps(body))
            await socket.recv()
            tokens = AccessTokens(service.database)
            (info,) = tokens.all()
            tokens.revoke(info.id)
            with pytest.raises(ConnectionClosed):
                await read_all(socket)
        while service.runs.count:
            await asyncio.sleep(0.005)

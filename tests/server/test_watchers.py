"""Streams: how many a user and an answer may have, and what becomes of those of a revoked token."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.rehearsal.script import say, stall, turn, wait
from headrace.server.connections import Parser
from tests.server.serving import Served, frames, scripted, served
from tests.server.test_connections import PARSERS, process, read_all, run
from tests.server.tokens import create_token

LIVE = turn(say("Hello."), stall())


@asynccontextmanager
async def users(data: Path, **settings: Any) -> AsyncGenerator[tuple[Served, Any]]:
    async with served(scripted(LIVE), data, needs_token=True, drain_s=0.2, **settings) as server:

        def token(name: str, scope: Any = "chat") -> dict[str, str]:
            value = create_token(server.service, name, "", 0, scope)
            return {"authorization": f"Bearer {value}"}

        yield server, token


async def _watch(server: Served, event_id: str, headers: Any) -> aiohttp.ClientResponse:
    return await server.http.get(f"{server.url}/api/chat/{event_id}/stream", headers=headers)


def test_the_streams_of_a_user_are_limited(tmp_path: Path) -> None:
    async def main() -> None:
        async with users(tmp_path, max_watchers_per_user=3) as (server, token):
            anna, bob = token("anna"), token("bob")
            async with server.open("Go.", headers=anna) as asked:
                event_id = asked.headers["x-event-id"]
                more = [await _watch(server, event_id, anna) for _ in range(2)]
                refused = await _watch(server, event_id, anna)
                error = (await refused.json())["error"]
                assert (refused.status, error["code"]) == (429, "too_many_watchers")
                assert int(refused.headers["retry-after"]) >= 1
                # A question whose answer cannot be watched is not asked.
                runs = server.service.runs.total
                async with server.open("Go.", headers=anna) as another:
                    assert another.status == 429
                assert server.service.runs.total == runs
                async with server.open("Go.", headers=bob) as theirs:
                    assert theirs.status == 200
                more[0].close()
                await _until(lambda: len(server.service.watchers) <= 2)
                again = await _watch(server, event_id, anna)
                assert again.status == 200
                again.close()
                more[1].close()

    asyncio.run(main())


def test_the_streams_of_an_answer_are_limited(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(LIVE), tmp_path, max_watchers_per_run=2) as server:
            async with server.open("Go.") as first, server.open("Go.") as other:
                assert other.status == 200
                event_id = first.headers["x-event-id"]
                second = await _watch(server, event_id, None)
                third = await _watch(server, event_id, None)
                assert (second.status, third.status) == (200, 429)
                second.close()
            await _until(lambda: len(server.service.watchers) == 0)

    asyncio.run(main())


def test_only_a_token_for_metrics_reads_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with users(tmp_path) as (server, token):
            anna, prometheus = token("anna"), token("prometheus", "metrics")
            for headers, path, status in (
                (anna, "/metrics", 403),
                (anna, "/api/conversations", 200),
                (prometheus, "/metrics", 200),
                (prometheus, "/api/conversations", 403),
                (None, "/metrics", 401),
            ):
                async with server.http.get(server.url + path, headers=headers) as response:
                    assert response.status == status, (path, await response.text())

    asyncio.run(main())


def test_the_metrics_tell_disk_and_watchers(tmp_path: Path) -> None:
    async def main() -> str:
        async with (
            served(scripted(LIVE), tmp_path) as server,
            server.open("Go."),
            server.http.get(f"{server.url}/metrics") as response,
        ):
            return await response.text()

    lines = [line for line in asyncio.run(main()).splitlines() if not line.startswith("#")]
    values = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
    assert values["headrace_watchers"] == values["headrace_live_runs"] == 1
    assert values["headrace_wal_bytes"] >= 0
    for name in ("database_bytes", "disk_free_bytes"):
        assert values[f"headrace_{name}"] > 0


@pytest.mark.parametrize("parser", PARSERS)
def test_revoking_a_token_ends_its_streams(parser: Parser, tmp_path: Path) -> None:
    """By `headrace token revoke` in another process, while the server runs."""

    def token(*words: str) -> str:
        command = [sys.executable, "-m", "headrace", "token", *words, "--data", str(tmp_path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    anna, bob = token("create", "anna"), token("create", "bob")
    ids = {line.split()[2]: line.split()[0] for line in token("list").splitlines()}

    async def main() -> None:
        async with process(parser, tmp_path, stall(), needs_token=True) as port:
            url = f"http://127.0.0.1:{port}/api/chat"
            async with aiohttp.ClientSession() as http:

                def ask(value: str) -> Any:
                    headers = {"authorization": f"Bearer {value}"}
                    return http.post(url, json={"message": "Go."}, headers=headers)

                async with ask(anna) as hers, ask(bob) as his:
                    await asyncio.to_thread(token, "revoke", ids["anna"])
                    since_s = time.monotonic()
                    # Read to its regular end, which is not cut off.
                    data = await asyncio.wait_for(hers.read(), 60)
                    assert time.monotonic() - since_s < 30
                    assert b"message_final" not in data
                    assert frames(data)
                    path = f"{url}/{hers.headers['x-event-id']}/stream"
                    headers = {"authorization": f"Bearer {anna}"}
                    async with http.get(path, headers=headers) as again:
                        assert again.status == 401
                    assert not his.content.at_eof()

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_client_that_ends_its_side_still_gets_its_stream(parser: Parser, tmp_path: Path) -> None:
    async def main() -> None:
        async with process(parser, tmp_path, wait(0.5), say(" Bye.")) as port:
            body = b'{"message": "Go."}'
            for request, end in (
                (
                    b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
                    b"\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body),
                    b"message_final",
                ),
                (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"ok\n"),
            ):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                writer.write_eof()
                # The server closes the connection after it.
                assert end in await read_all(reader)
                writer.close()

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_client_that_closes_its_connection_is_noticed_soon(
    parser: Parser, tmp_path: Path
) -> None:
    """Although a closed connection looks like one of which only one side was ended."""

    async def main() -> None:
        async with process(parser, tmp_path, stall()) as port:
            url = f"http://127.0.0.1:{port}"
            async with aiohttp.ClientSession() as http:
                async with http.post(f"{url}/api/chat", json={"message": "Go."}) as asked:
                    await asked.content.readany()
                    assert await _metric(http, url, "headrace_watchers") == 1
                for _ in range(400):
                    if await _metric(http, url, "headrace_watchers") == 0:
                        return
                    await asyncio.sleep(0.02)
                raise AssertionError("the stream of a closed connection stays open")

    run(main)


async def _metric(http: aiohttp.ClientSession, url: str, name: str) -> int:
    async with http.get(f"{url}/metrics") as response:
        text = await response.text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name))


async def _until(is_so: Any) -> None:
    for _ in range(3_000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never is")


def test_searches_and_stored_bytes_are_limited_without_tokens_too(tmp_path: Path) -> None:
    async def main() -> None:
        agent = scripted(turn(say("Hello.")))
        limits = {"searches_per_minute": 2, "max_stored_bytes_per_user": 1}
        async with served(agent, tmp_path, **limits) as server:
            await server.ask("Go.")
            async with server.open("Go.") as refused:
                assert refused.status == 403
                assert (await refused.json())["error"]["code"] == "storage_full"
            statuses = [(await server.get("/api/conversations?q=go"))[0] for _ in range(3)]
            assert statuses == [200, 200, 429]

    asyncio.run(main())

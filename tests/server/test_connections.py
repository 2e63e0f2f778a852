"""Strangers who open connections and keep the server waiting are let go; others are served."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.errors import UsageError
from headrace.rehearsal.script import Line, say, stall, turn
from headrace.server import create_app
from headrace.server.connections import (
    BoundedConnection,
    ConnectionRegistry,
    Parser,
    raise_descriptor_limit,
)
from headrace.server.listener import open_listener
from headrace.server.log_limit import LogLimit
from headrace.server.process import serve
from headrace.server.settings import Settings
from tests.server.serving import scripted
from tests.server.tokens import create_token

PARSERS: list[Parser] = ["h11", "httptools"]
QUICK = {"head_timeout_s": 0.5, "body_timeout_s": 0.5, "send_timeout_s": 0.5}


@asynccontextmanager
async def process(parser: Parser, data: Path, *lines: Line, **settings: Any) -> AsyncIterator[int]:
    """The server as `headrace serve` runs it, on a port of its own."""
    agent = scripted(turn(say("Hello."), *lines))
    app = create_app(agent, data=data, drain_s=1.0, **settings)
    listener = open_listener("127.0.0.1", 0)
    ready = asyncio.Event()
    serving = asyncio.ensure_future(serve(app, listener, ready=ready.set, parser=parser))
    await asyncio.wait(
        {serving, asyncio.ensure_future(ready.wait())}, return_when="FIRST_COMPLETED"
    )
    try:
        yield listener.getsockname()[1]
    finally:
        os.kill(os.getpid(), signal.SIGHUP)
        await serving


async def is_served(port: int) -> bool:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"http://127.0.0.1:{port}/healthz") as response,
    ):
        return response.status == 200


async def read_all(reader: asyncio.StreamReader) -> bytes:
    data = b""
    try:
        while piece := await asyncio.wait_for(reader.read(65_536), 60):
            data += piece
    except ConnectionError:
        pass
    return data


def run(main: Any) -> None:
    asyncio.run(asyncio.wait_for(main(), 120))


@pytest.mark.parametrize("parser", PARSERS)
def test_endless_headers_are_refused(parser: Parser, tmp_path: Path) -> None:
    async def main() -> None:
        async with process(parser, tmp_path) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            sent = 0
            line = b"x-endless: " + b"a" * 1_000 + b"\r\n"
            try:
                while sent < 50_000_000:
                    writer.write(line * 50)
                    sent += 50 * len(line)
                    await asyncio.wait_for(writer.drain(), 10)
            except ConnectionError:
                pass
            answer = await read_all(reader)
            writer.close()
            assert sent < 20_000_000
            assert answer == b"" or answer.split(b" ")[1] in (b"431", b"400")
            assert await is_served(port)

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_one_endless_header_is_refused_too(parser: Parser, tmp_path: Path) -> None:
    async def main() -> None:
        async with process(parser, tmp_path) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nx-endless: ")
            for _ in range(4):
                writer.write(b"a" * 50_000)
                await asyncio.sleep(0.05)
            answer = await read_all(reader)
            writer.close()
            assert answer == b"" or answer.split(b" ")[1] in (b"431", b"400")

    run(main)


ASK = b'{"message":"Go."}'
CHAT = b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
STREAMING = CHAT + b"Content-Length: %d\r\n\r\n" % len(ASK) + ASK
NEXT = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = CHAT + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b"x-endless: " + b"a" * 1_000 + b"\r\n"


# h11 reads no second request while it answers the first one.
@pytest.mark.parametrize(
    ("parser", "start", "endless"),
    [
        ("httptools", STREAMING + NEXT, LINE),
        ("httptools", STREAMING + NEXT + b"x-endless: ", b"a" * 1_000),
        ("httptools", CHUNKED + b"1\r\n{\r\n0\r\n", LINE),
        ("httptools", CHUNKED + b"1\r\n{\r\n1;", b"a" * 1_000),
        ("h11", CHUNKED + b"1\r\n{\r\n0\r\n", LINE),
        ("h11", CHUNKED + b"1\r\n{\r\n1;", b"a" * 1_000),
    ],
    ids=["head", "header", "trailers", "extension", "trailers of h11", "extension of h11"],
)
def test_nothing_endless_is_read_after_the_first_head_either(
    parser: Parser, start: bytes, endless: bytes, tmp_path: Path
) -> None:
    async def main() -> None:
        async with process(parser, tmp_path, stall()) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(start)
            sent = 0
            try:
                while sent < 30_000_000:
                    writer.write(endless * 50)
                    sent += 50 * len(endless)
                    await asyncio.wait_for(writer.drain(), 30)
            except ConnectionError:
                pass
            assert sent < 20_000_000
            await read_all(reader)
            writer.close()
            assert await is_served(port)

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_requests_that_are_sent_at_once_are_all_answered(parser: Parser, tmp_path: Path) -> None:
    filler = b"x-filler: " + b"a" * 20_000 + b"\r\n"
    last = NEXT + b"Connection: close\r\n\r\n"

    async def main() -> None:
        async with process(parser, tmp_path) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write((NEXT + filler + b"\r\n") * 9 + last)
            answer = await read_all(reader)
            writer.close()
            assert answer.count(b"HTTP/1.1 200 OK") == 10

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: 127",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
    ],
    ids=["silent", "half a head", "half a body"],
)
def test_a_client_that_says_nothing_more_is_let_go(
    start: bytes, parser: Parser, tmp_path: Path
) -> None:
    async def main() -> None:
        async with process(parser, tmp_path, **QUICK) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(start)
            await read_all(reader)
            writer.close()

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_request_after_another_on_the_same_connection_has_its_own_time(
    parser: Parser, tmp_path: Path
) -> None:
    async def main() -> None:
        async with process(parser, tmp_path, **QUICK) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(3):
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
                assert head.startswith(b"HTTP/1.1 200")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                await asyncio.sleep(0.3)
            writer.write(b"GET /hea")
            await read_all(reader)
            writer.close()

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_idle_connections_keep_nobody_out(parser: Parser, tmp_path: Path) -> None:
    async def main() -> None:
        async with process(parser, tmp_path, max_connections=20) as port:
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
            for _ in range(5):
                assert await is_served(port)
            for _, writer in idle:
                writer.close()

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_malformed_origin_is_refused(parser: Parser, tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            process(parser, tmp_path) as port,
            aiohttp.ClientSession(headers={"Origin": "http://["}) as http,
            http.post(f"http://127.0.0.1:{port}/api/chat", json={}) as response,
        ):
            assert response.status == 403

    run(main)


class Fake:
    """A connection of an address that can be closed."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_closed = False

    def abort(self) -> None:
        self.is_closed = True


def test_one_address_cannot_keep_many_connections_waiting(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, max_waiting_per_address=2)
    registry = ConnectionRegistry(settings, 10_000)
    waiting: list[Any] = [Fake("a"), Fake("a"), Fake("a"), Fake("b")]
    assert [registry.add(one) for one in waiting] == [True, True, False, True]
    registry.stop_waiting(waiting[0])
    assert registry.add(waiting[2])
    registry.remove(waiting[1])
    another: Any = Fake("a")
    assert registry.add(another)


def test_without_a_waiting_connection_a_new_one_is_refused(tmp_path: Path) -> None:
    registry = ConnectionRegistry(Settings(data=tmp_path, max_connections=2), 10_000)
    busy: list[Any] = [Fake("a"), Fake("b")]
    for one in busy:
        assert registry.add(one)
        registry.stop_waiting(one)
    late: Any = Fake("c")
    assert not registry.add(late)
    assert not any(one.is_closed for one in busy)
    assert (len(registry), registry.refused) == (2, 1)


@pytest.mark.parametrize(("descriptors", "most"), [(256, 96), (1_024, 480), (1_000_000, 5_000)])
def test_descriptors_are_left_for_the_database(descriptors: int, most: int, tmp_path: Path) -> None:
    assert ConnectionRegistry(Settings(data=tmp_path), descriptors).max_connections == most


def test_time_in_which_the_process_was_stopped_is_not_that_of_a_client(tmp_path: Path) -> None:
    async def main() -> None:
        async with process("httptools", tmp_path, head_timeout_s=3.0) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            await asyncio.sleep(0.1)
            time.sleep(5)  # The server runs in this thread too.
            await asyncio.sleep(0.1)
            writer.write(b"Connection: close\r\n\r\n")
            assert (await read_all(reader)).startswith(b"HTTP/1.1 200 OK")
            writer.close()

    run(main)


def test_the_limit_on_open_files_is_raised_as_far_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        assert raise_descriptor_limit() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_flood_of_log_lines_is_cut_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    limit = LogLimit(3, lambda: now[0])
    logger = logging.getLogger("headrace.test_flood")
    logger.addFilter(limit)
    for number in range(10):
        logger.warning("line %d", number)
    now[0] = 61.0
    logger.warning("later")
    logger.removeFilter(limit)
    assert [record.getMessage() for record in caplog.records] == [
        "line 0",
        "line 1",
        "line 2",
        "later (7 log lines were left out)",
    ]


@pytest.mark.parametrize("parser", PARSERS)
def test_two_host_headers_are_refused(parser: Parser, tmp_path: Path) -> None:
    async def main() -> None:
        async with process(parser, tmp_path) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.test\r\n"
                b"Connection: close\r\n\r\n"
            )
            assert (await read_all(reader)).startswith(b"HTTP/1.1 400")
            writer.close()

    run(main)


@pytest.mark.parametrize("parser", PARSERS)
def test_private_answers_are_not_cached_and_the_head_of_a_stream_ends(
    parser: Parser, tmp_path: Path
) -> None:
    async def main() -> None:
        async with process(parser, tmp_path, stall()) as port, aiohttp.ClientSession() as http:
            url = f"http://127.0.0.1:{port}/api"
            async with http.post(f"{url}/chat", json={"message": "Hi"}) as asked:
                event_id = asked.headers["x-event-id"]
                async with http.get(f"{url}/conversations") as listed:
                    assert listed.headers["cache-control"] == "no-store"
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                target = f"/api/chat/{event_id}/stream".encode()
                writer.write(
                    b"HEAD %b HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % target
                )
                # The answer stalls, so this would not end if the stream were sent.
                assert (await asyncio.wait_for(reader.read(), 20)).startswith(b"HTTP/1.1 200")
                writer.close()

    run(main)


@pytest.mark.parametrize("name", ["two\nlines", "tab\t", "\x1b[31m"])
def test_the_name_of_an_access_token_is_one_line(name: str, tmp_path: Path) -> None:
    app = create_app(scripted(turn(say("Hello."))), data=tmp_path)

    async def main() -> None:
        service = app.state.service
        await service.open()
        try:
            with pytest.raises(UsageError, match="single line"):
                create_token(service, "anna", name, 0)
        finally:
            await service.close()

    run(main)


def test_many_connections_at_once_are_accepted_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that streams get their turn in between. Those that wait are not refused."""
    made = 0
    connection_made = BoundedConnection.connection_made

    def count(self: BoundedConnection, transport: Any) -> None:
        nonlocal made
        made += 1
        connection_made(self, transport)

    monkeypatch.setattr(BoundedConnection, "connection_made", count)

    async def main() -> None:
        async with process("h11", tmp_path, max_waiting_per_address=1_000) as port:
            peers = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(300)]
            steps = []
            while made < len(peers):
                before = made
                await asyncio.sleep(0)
                steps.append(made - before)
            assert max(steps) <= 64
            for peer in peers:
                peer.close()

    run(main)

"""Clients that leave, on connections as `headrace serve` has them: their answers end at once,
whether they are streamed or not, and whether or not they have begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.engine import Agent
from headrace.rehearsal.script import say, stall, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from headrace.server.connections import ConnectionRegistry, Parser, create_protocol_class
from headrace.server.http import event_stream
from headrace.server.service import Service
from headrace.transport.retry import NEVER
from tests.server.serving import running

PARSERS: list[Parser] = ["h11", "httptools"]
MESSAGES = [{"role": "user", "content": "Hi."}]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": MESSAGES}),
    "messages": ("/v1/messages", {"messages": MESSAGES, "max_tokens": 9}),
    "responses": ("/v1/responses", {"input": "Hi."}),
    "unstored": ("/v1/responses", {"input": "Hi.", "store": False}),
}


async def wait_for(holds: Callable[[], bool]) -> None:
    for _ in range(4_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it does not come true")


@asynccontextmanager
async def serving(
    parser: Parser, data: Path, *lines: Any
) -> AsyncGenerator[tuple[str, ScriptedTransport], None]:
    """A model that says some lines and never ends, behind connections of `headrace serve`."""
    transport = ScriptedTransport(lambda _: turn(*lines, stall()), dialect="chat")
    agent = Agent("openai-chat:test", transport=transport, api_key="k", policy=NEVER)
    # Only leaving ends an answer here.
    app = create_app(agent, data=data, heartbeat_s=600, send_timeout_s=600)
    service: Service = app.state.service
    registry = ConnectionRegistry(service.settings, 1_024)
    async with running(app, http=create_protocol_class(registry, parser)) as url:
        yield url, transport


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("has_begun", [False, True])
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_client_that_leaves_ends_its_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parser: Parser,
    name: str,
    has_begun: bool,
    is_stream: bool,
) -> None:
    # The last pause between two probes: the first ones must find out.
    monkeypatch.setattr(event_stream, "_PROBE_S", 600.0)
    path, fields = REQUESTS[name]
    body = {"model": "default", "stream": is_stream, **fields}

    async def main() -> None:
        lines = [say("Hello.")] if has_begun else []
        async with (
            serving(parser, tmp_path, *lines) as (url, transport),
            aiohttp.ClientSession() as http,
        ):
            asking = asyncio.create_task(http.post(url + path, json=body))
            await wait_for(lambda: transport.open_streams == 1)
            if is_stream and has_begun:
                response = await asking
                assert b"Hello." in await response.content.readuntil(b"Hello.")
            if asking.done():
                asking.result().close()
            asking.cancel()
            await wait_for(lambda: transport.open_streams == 0)

    asyncio.run(main())


@pytest.mark.parametrize("parser", PARSERS)
def test_a_client_that_only_ends_its_side_still_reads_a_stream(
    tmp_path: Path, parser: Parser
) -> None:
    async def main() -> None:
        async with serving(parser, tmp_path, say("Hello.")) as (url, transport):
            port = int(url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            sent = b'{"model":"default","stream":true,"messages":[{"role":"user","content":"Hi."}]}'
            head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(sent)
            writer.write(head + sent)
            await reader.readuntil(b"Hello.")
            writer.write_eof()
            # Probes come, and the answer goes on.
            data = b""
            while data.count(b": \n\n") < 4:
                data += await reader.read(1_000)
            assert transport.open_streams == 1
            writer.close()
            await wait_for(lambda: transport.open_streams == 0)

    asyncio.run(main())

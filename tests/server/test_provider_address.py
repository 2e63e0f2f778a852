"""Users do not learn where the provider is; the log of the server says it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from headrace.engine import Agent
from headrace.transport.retry import NEVER
from tests.server.serving import served
from tests.transport.upstream import Peer, head


async def refuse(peer: Peer) -> None:
    await peer.send(head("500 Oops", "text/plain", chunked=False), b"not today")


async def send_page(peer: Peer) -> None:
    await peer.send(head("200 OK", "text/html", chunked=False), b"<html><title>Hi</title></html>")


async def hang_up(peer: Peer) -> None:
    peer.reset()


ANSWERS: list[Callable[[Peer], Awaitable[None]] | None] = [refuse, send_page, hang_up, None]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("protocol", ["ux", "thinking"])
def test_the_address_is_in_the_log_alone(
    answer: Callable[[Peer], Awaitable[None]] | None,
    protocol: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert answer is not None
        await reader.readuntil(b"\r\n\r\n")
        await answer(Peer(reader, writer))
        writer.close()

    async def main() -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        if answer is None:
            listener.close()
            server = None
        else:
            server = await asyncio.start_server(handle, sock=listener)
        url = f"http://127.0.0.1:{port}/secret-path/v1"
        agent = Agent("vllm:test", base_url=url, api_key="k", policy=NEVER)
        async with served(agent, tmp_path) as here:
            with caplog.at_level(logging.WARNING, "headrace.server"):
                _, conversation_id, data = await here.ask("Hi.", protocol=protocol)
            _, stored = await here.get(f"/api/conversations/{conversation_id}")
        if server is not None:
            server.close()
        for shown in (data.decode(), str(stored)):
            assert str(port) not in shown
            assert "secret-path" not in shown
        assert "the provider" in data.decode()
        assert f"127.0.0.1:{port}/secret-path" in caplog.text

    asyncio.run(main())

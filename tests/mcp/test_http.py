"""MCP servers with a URL: calls, lost connections, and responses that are too long."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from headrace import MCP
from headrace.mcp import MCPLimits
from tests.mcp.play import DEMO, agent_with, calling, play, result_of, text_of


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def demo_server() -> AsyncIterator[str]:
    """Run the demo server over HTTP, and yield its URL."""
    port = _free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, DEMO[1], "http", str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


def test_calls_and_progress_over_http():
    async def main() -> None:
        async with demo_server() as url:
            server = MCP(url, name="demo")
            events = await play(agent_with(calling("count", to=3), server))
            assert "counted" in text_of(events)
            assert sum(type(event).__name__ == "ToolProgress" for event in events) == 3
            await server.aclose()

    asyncio.run(main())


def test_a_server_that_is_gone_fails_the_call_and_the_run_goes_on():
    async def main() -> None:
        async with demo_server() as url:
            server = MCP(url, name="demo")
            agent = await agent_with(calling("add", a=1, b=2), server).load_tools()
        result = result_of(await play(agent))
        assert result.is_error
        assert "cannot be reached" in text_of([result])
        await server.aclose()

    asyncio.run(main())


@asynccontextmanager
async def raw_server(body: bytes, kind: str, *headers: str) -> AsyncIterator[str]:
    """Answer every tools/call with these bytes, and all else as a server should."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].split()[0])
                message = json.loads(await reader.readexactly(length))
                answer, media_type = _answer(message), "application/json"
                if message.get("method") == "tools/call":
                    answer, media_type = body, kind
                lines = [
                    "HTTP/1.1 200 OK",
                    f"Content-Type: {media_type}",
                    f"Content-Length: {len(answer)}",
                    *headers,
                ]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def _answer(message: dict[str, Any]) -> bytes:
    result: dict[str, Any] = {}
    if message.get("method") == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }
    elif message.get("method") == "tools/list":
        result = {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
    elif message.get("method") == "server/discover":
        error = {"code": -32601, "message": "unknown"}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
    return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[" + b"1," * 2_000_000 + b"1]", "application/json"),
        (b"data: " + b"x" * 3_000_000 + b"\n\n", "text/event-stream"),
        (b"data: {}\n\n" * 5_000, "text/event-stream"),
        (b"not json", "application/json"),
        (b"<html>", "text/html"),
        (b"", "text/event-stream"),
    ],
    ids=["long", "long event", "many events", "not json", "another type", "empty"],
)
def test_a_response_that_is_wrong_fails_its_call(body: bytes, kind: str):
    async def main() -> None:
        async with raw_server(body, kind) as url:
            limits = MCPLimits(max_message_bytes=1_000_000, max_messages=1_000)
            server = MCP(url, name="raw", limits=limits)
            result = result_of(await play(agent_with(calling("act"), server)))
            assert result.is_error
            await server.aclose()

    asyncio.run(asyncio.wait_for(main(), 60))

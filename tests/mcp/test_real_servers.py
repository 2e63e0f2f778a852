"""Real MCP servers from PyPI and npm, which need no network, driven by the rehearsal model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace import MCP, Agent
from headrace import events as ev
from tests.clients.node import FOLDER, find_node, needs_packages
from tests.mcp.play import agent_with, calling, play, result_of, text_of

SERVERS = FOLDER / "node_modules" / "@modelcontextprotocol"


def npm_server(name: str, *arguments: str) -> list[str]:
    """Return the command of a server from npm."""
    return [find_node(), str(SERVERS / name / "dist" / "index.js"), *arguments]


async def _ask(server: MCP, question: str) -> list[ev.Event]:
    """Ask the rehearsal model, which calls the tools that a question names."""
    try:
        agent = Agent("rehearsal:instant", tools=[server])
        return await play(agent, question)
    finally:
        await server.aclose()


def test_time_from_pypi():
    server = MCP([sys.executable, "-m", "mcp_server_time"], only=["get_current_time"])
    events = asyncio.run(_ask(server, 'What is the current time in "Europe/Berlin"?'))
    assert "Europe/Berlin" in text_of(events)
    assert server.label == "mcp-server-time"


def test_an_error_of_the_time_server_reaches_the_model():
    server = MCP([sys.executable, "-m", "mcp_server_time"], only=["get_current_time"])
    result = result_of(asyncio.run(_ask(server, 'What is the current time in "Nowhere/At-all"?')))
    assert result.is_error


def test_git_from_pypi(tmp_path: Path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new")
    server = MCP([sys.executable, "-m", "mcp_server_git"], only=["git_status"], env=git_env())
    events = asyncio.run(_ask(server, f'Git status of "{tmp_path}", please.'))
    assert "new.txt" in text_of(events)


def git_env() -> dict[str, str]:
    """Return variables that keep git from reading the settings of the user."""
    return {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


@needs_packages
def test_files_fromnpm_server(tmp_path: Path):
    (tmp_path / "leaf.txt").write_text("green")
    server = MCP(
        npm_server("server-filesystem", str(tmp_path)), name="files", only=["read_text_file"]
    )
    events = asyncio.run(_ask(server, f'Read the file "{tmp_path / "leaf.txt"}".'))
    assert "green" in text_of(events)


@needs_packages
def test_a_large_file_from_npm_is_cut(tmp_path: Path):
    (tmp_path / "large.txt").write_text("word " * 200_000)
    server = MCP(
        npm_server("server-filesystem", str(tmp_path)), name="files", only=["read_text_file"]
    )

    async def main() -> str:
        try:
            script = calling("read_text_file", path=str(tmp_path / "large.txt"))
            return text_of(await play(agent_with(script, server)))
        finally:
            await server.aclose()

    assert "more characters]" in asyncio.run(main())


@needs_packages
def test_memory_fromnpm_server(tmp_path: Path):
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    server = MCP(npm_server("server-memory"), name="memory", env=env)

    async def main() -> str:
        entity = {"name": "Rhine", "entityType": "river", "observations": ["flows north"]}
        try:
            await play(agent_with(calling("create_entities", entities=[entity]), server))
            return text_of(await play(agent_with(calling("read_graph"), server)))
        finally:
            await server.aclose()

    assert "flows north" in asyncio.run(main())


@needs_packages
def test_everything_from_npm_reports_progress_and_is_cancelled():
    server = MCP(npm_server("server-everything"), name="everything")

    async def main() -> tuple[list[ev.Event], Any]:
        try:
            name = "trigger-long-running-operation"
            script = calling(name, duration=1, steps=4)
            events = await play(agent_with(script, server))
            async with agent_with(calling(name, duration=60, steps=600), server).run("Go.") as run:
                async for event in run:
                    if isinstance(event, ev.ToolProgress):
                        run.cancel()
            return events, run.result.finish
        finally:
            await server.aclose()

    events, finish = asyncio.run(main())
    shares = [event.progress for event in events if isinstance(event, ev.ToolProgress)]
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert finish.kind == "cancelled"


@needs_packages
@pytest.mark.parametrize("name", ["server-everything", "server-filesystem", "server-memory"])
def test_all_tools_of_a_server_can_be_offered(name: str, tmp_path: Path):
    async def main() -> tuple[str, ...]:
        server = MCP(npm_server(name, str(tmp_path) if name == "server-filesystem" else "stdio"))
        try:
            return (await Agent("rehearsal:demo", tools=[server]).load_tools()).tools.names
        finally:
            await server.aclose()

    assert len(asyncio.run(main())) > 5

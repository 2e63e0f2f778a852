"""Real MCP servers driven by a real inference server: llama.cpp reads their tools and calls one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace import MCP, Agent
from headrace import events as ev
from headrace.engine import RunLimits
from tests.clients.node import needs_packages
from tests.live.llama import MODEL_MAKER, llama_server
from tests.mcp.play import play, result_of, text_of
from tests.mcp.test_real_servers import git_env, npm_server

pytest.importorskip("xllamacpp")
pytestmark = [pytest.mark.shared(MODEL_MAKER), pytest.mark.timeout(120)]


def _create_agent(server: MCP, address: str) -> Agent:
    limits = RunLimits(max_result_chars=500)
    return Agent("llamacpp:tiny", tools=[server], limits=limits, base_url=address, api_key="none")


def ask(folder: Path, server: MCP, name: str, /, **arguments: Any) -> list[ev.Event]:
    """Let the model call a tool of the server; return the events of the run."""

    async def main(address: str) -> list[ev.Event]:
        agent = _create_agent(server, address)
        try:
            return await play(agent)
        finally:
            await server.aclose()

    with llama_server(folder, {"name": name, "arguments": arguments}) as address:
        return asyncio.run(main(address))


def check_answer(events: list[ev.Event]) -> None:
    """Check that the model has read the result, and has answered."""
    assert isinstance(events[-1], ev.RunFinished)
    assert str(events[-1].reason) == "end_turn"
    texts = [event.text for event in events if isinstance(event, ev.TextDelta)]
    assert "".join(texts).strip() == "It will be sunny in Paris."


def test_the_time_and_an_error_of_the_server(tmp_path: Path) -> None:
    for zone, is_error in (("Europe/Paris", False), ("Nowhere/At-all", True)):
        server = MCP([sys.executable, "-m", "mcp_server_time"], only=["get_current_time"])
        events = ask(tmp_path, server, "get_current_time", timezone=zone)
        assert result_of(events).is_error is is_error
        assert zone in text_of(events)
        check_answer(events)


def test_the_state_of_a_git_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "new.txt").write_text("new")
    server = MCP([sys.executable, "-m", "mcp_server_git"], only=["git_status"], env=git_env())
    events = ask(tmp_path, server, "git_status", repo_path=str(repository))
    assert "new.txt" in text_of(events)
    check_answer(events)


@needs_packages
def test_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_text("word " * 20_000)
    command = npm_server("server-filesystem", str(tmp_path))
    server = MCP(command, name="files", only=["read_text_file"])
    events = ask(tmp_path, server, "read_text_file", path=str(path))
    assert "more characters]" in text_of(events)
    check_answer(events)


@needs_packages
def test_progress_and_a_cancelled_call(tmp_path: Path) -> None:
    name = "trigger-long-running-operation"
    command = npm_server("server-everything")
    server = MCP(command, name="everything", only=[name])
    events = ask(tmp_path, server, name, duration=1, steps=4)
    shares = [event.progress for event in events if isinstance(event, ev.ToolProgress)]
    assert shares == [0.25, 0.5, 0.75, 1.0]
    check_answer(events)

    async def cancel(address: str) -> str:
        server = MCP(command, name="everything", only=[name])
        agent = _create_agent(server, address)
        try:
            async with agent.run("Go.") as run:
                async for event in run:
                    if isinstance(event, ev.ToolProgress):
                        run.cancel()
            finish = run.result.finish
            assert finish is not None
            return str(finish.kind)
        finally:
            await server.aclose()

    call = {"name": name, "arguments": {"duration": 60, "steps": 600}}
    with llama_server(tmp_path, call) as address:
        assert asyncio.run(cancel(address)) == "cancelled"

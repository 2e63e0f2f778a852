"""MCP servers behind `headrace serve` and `headrace chat`: options, files and pinned tools."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headrace import MCP, UsageError
from headrace.client import AsyncClient
from headrace.server import create_app
from headrace.server.agent_config import load_agent
from headrace.server.mcp_config import MCPEntry, build_entry, read_option
from tests.mcp.play import DEMO, agent_with, calling


def test_the_tools_of_a_run_are_kept_with_its_row(tmp_path: Path):
    async def main() -> dict[str, Any]:
        server = MCP(list(DEMO), name="demo", only=["add"])
        agent = agent_with(calling("add", a=1, b=2), server)
        app = create_app(agent, data=tmp_path)
        service = app.state.service
        async with service:
            client = AsyncClient.in_process(app)
            async with client.ask("Go.") as answer:
                end = await answer.wait()
            row = await service.store.run("local", end.id)
            # The same run, continued by another process, offers the same tools.
            resumed, _ = await service.models.restore_agent(row)
            assert resumed.tools.names == ("add",)
            return dict(msgspec.json.decode(row.request))

    request = asyncio.run(main())
    (pinned,) = request["mcp_tools"]
    assert (pinned["source"], pinned["own_name"], pinned["name"]) == ("demo", "add", "add")
    assert pinned["parameters"]["required"] == ["a", "b"]


def test_an_agent_file_has_servers_with_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "agent.toml"
    file.write_text(
        'tools = []\n[mcp.demo]\ncommand = "python -m x"\nenv = { A = "${SECRET_OF_TEST}" }\n'
        '[mcp.search]\nurl = "https://example.org/mcp"\n'
    )
    with pytest.raises(UsageError, match=r"\[mcp.demo\]: the environment variable SECRET_OF_TEST"):
        load_agent(str(file), None)
    monkeypatch.setenv("SECRET_OF_TEST", "secret")
    labels = [source.label for source in load_agent(str(file), None).tools.sources]
    assert labels == ["demo", "search"]


@pytest.mark.parametrize("entry", [MCPEntry(), MCPEntry(command="a", url="https://b.example")])
def test_a_server_needs_a_command_or_a_url(entry: MCPEntry):
    with pytest.raises(UsageError, match="either command or url"):
        build_entry("x", entry, {})


def test_an_option_may_have_a_name_and_a_token_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
):
    assert read_option("files=npx -y server", {}).label == "files"
    assert read_option("npx -y server-memory", {}).label == "server-memory"
    monkeypatch.setenv("HEADRACE_MCP_MY_SEARCH_TOKEN", "token-of-the-test")
    for url in ("https://example.org/mcp", "HTTPS://example.org/mcp"):
        source = read_option(f"my-search={url}", {})
        assert "token-of-the-test" in source._link._address.secrets


def _chat(data: Path, lines: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headrace", "chat", "--data", str(data), *options],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_chat_uses_tools_prompts_and_resources(tmp_path: Path):
    lines = "/tools\n/prompts\n/resources\n/resource demo://leaf\n/prompt review code=abc\n"
    ran = _chat(tmp_path, lines, "--mcp", f"demo={' '.join(DEMO)}")
    assert "get_environment" in ran.stderr
    assert "review code=…" in ran.stderr + ran.stdout
    assert "demo://leaf" in ran.stderr + ran.stdout
    assert "Please review: abc" in ran.stdout
    assert "green" in ran.stdout


def test_a_chat_tells_which_server_failed(tmp_path: Path):
    ran = _chat(tmp_path, "Hello!\n", "--mcp", "gone=no-such-program-at-all")
    assert "the MCP server gone (no-such-program-at-all) failed" in ran.stderr
    assert ran.stdout, "the chat goes on"

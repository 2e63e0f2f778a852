"""The public runner of Open Responses against a real server: all of its tests."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.engine import Agent
from headrace.rehearsal.transport import ScriptedTransport
from headrace.testing import call, say, think, turn
from headrace.transport.retry import NEVER
from tests.server.serving import served
from tests.shared import shared

RUNNER = "conformance/open-responses"
BUN = Path("node_modules/.bin/bun")
MODELS = {"responses": "openai:gpt-5", "anthropic": "anthropic:claude-opus-4-6"}
pytestmark = pytest.mark.shared(RUNNER)


def play(heard: Any) -> Any:
    """A model that thinks, calls the tool that it is given, and answers."""
    if heard.tools and not heard.since_user:
        return turn(think("They want the weather."), call("get_weather", location="San Francisco"))
    return turn(think("That is easy."), say("Ahoy, hello there!"))


async def judge(folder: Path, data: Path, dialect: str, **settings: Any) -> list[dict[str, Any]]:
    """Serve a model that speaks a dialect, and return the results of the runner."""
    transport = ScriptedTransport(play, dialect=dialect)
    agent = Agent(MODELS[dialect], transport=transport, api_key="k", policy=NEVER)
    async with served(agent, data, **settings) as server:
        command = [str(BUN), "run", "bin/compliance-test.ts", "--api-key", "none", "--json"]
        address = ["--base-url", f"{server.url}/v1", "--model", "default"]
        output = await run([*command, *address], folder, may_fail=True)
    results: list[dict[str, Any]] = json.loads(output)["results"]
    return results


@pytest.mark.timeout(240)
def test_the_runner_passes(tmp_path: Path, record_property: Any) -> None:
    """Also with raw reasoning, for which the specification has events of its own."""
    folder = tmp_path / "runner"
    source = shared(RUNNER)
    assert source is not None
    shutil.copytree(source, folder)

    async def main() -> list[dict[str, Any]]:
        npm = shutil.which("npm") or "npm"
        await run([npm, "install", "--no-audit", "--no-fund", "--prefer-offline"], folder)
        first = await judge(folder, tmp_path / "a", "responses")
        second = await judge(folder, tmp_path / "b", "anthropic", reasoning_events="open_responses")
        assert len(first) == len(second) == 13
        return first + second

    results = asyncio.run(main())
    failed = [(one["id"], one.get("errors")) for one in results if one["status"] != "passed"]
    record_property("summary", f"Open Responses: {len(results) - len(failed)} of {len(results)}")
    assert not failed


async def run(command: list[str], folder: Path, *, may_fail: bool = False) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=sys.stderr
    )
    output, _ = await process.communicate()
    assert may_fail or process.returncode == 0, output.decode()
    return output

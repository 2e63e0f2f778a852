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
pytestmark = pytest.mark.shared(RUNNER)


def play(heard: Any) -> Any:
    """A model that thinks, calls the tool that it is given, and answers."""
    if heard.tools and not heard.since_user:
        return turn(think("They want the weather."), call("get_weather", location="San Francisco"))
    return turn(think("That is easy."), say("Ahoy, hello there!"))


def install(folder: Path) -> Path:
    """Copy the runner, and install what it needs from the cache of npm. Returns its bun."""
    source = shared(RUNNER)
    assert source is not None
    shutil.copytree(source, folder, dirs_exist_ok=True)
    return folder / "node_modules" / ".bin" / "bun"


@pytest.mark.timeout(240)
def test_the_runner_passes(tmp_path: Path, record_property: Any) -> None:
    folder = tmp_path / "runner"
    bun = install(folder)

    async def main() -> list[dict[str, Any]]:
        await run(["npm", "install", "--no-audit", "--no-fund", "--prefer-offline"], folder)
        transport = ScriptedTransport(play, dialect="responses")
        agent = Agent("openai:gpt-5", transport=transport, api_key="k", policy=NEVER)
        async with served(agent, tmp_path / "data") as server:
            command = [str(bun), "run", "bin/compliance-test.ts", "--api-key", "none", "--json"]
            address = ["--base-url", f"{server.url}/v1", "--model", "default"]
            output = await run([*command, *address], folder, may_fail=True)
        results: list[dict[str, Any]] = json.loads(output)["results"]
        return results

    results = asyncio.run(main())
    failed = [(one["id"], one.get("errors")) for one in results if one["status"] != "passed"]
    record_property("summary", f"Open Responses: {len(results) - len(failed)} of {len(results)}")
    assert not failed
    assert len(results) == 13


async def run(command: list[str], folder: Path, *, may_fail: bool = False) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=sys.stderr
    )
    output, _ = await process.communicate()
    assert may_fail or process.returncode == 0, output.decode()
    return output

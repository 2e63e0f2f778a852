"""The MCP conformance suite, against Headrace's client and server.

The server runs all scenarios that the two revisions require, in one process of the suite per
revision. The suite takes a process for each scenario of a client, so a few of each revision run
always, and all that are required in `make soak`.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.clients.node import FOLDER, find_node, needs_packages

SUITE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
HERE = Path(__file__).resolve().parent / "mcp"
REVISIONS = ("2025-11-25", "2026-07-28")
SOAKS = bool(os.environ.get("HEADRACE_SOAK_MCP"))
WITHIN_S = 900 if SOAKS else 240

CLIENT_SCENARIOS = [
    ("initialize", "2025-11-25"),
    ("elicitation-sep1034-client-defaults", "2025-11-25"),
    ("sse-retry", "2025-11-25"),
    ("auth/metadata-default", "2025-11-25"),
    ("tools_call", "2026-07-28"),
    ("auth/pre-registration", "2026-07-28"),
    ("sep-2322-client-request-state", "2026-07-28"),
    ("http-custom-headers", "2026-07-28"),
    ("json-schema-2020-12-preservation", "2026-07-28"),
]
# No revision requires these, so the list below does not contain them.
MORE_SERVER_SCENARIOS = [
    ("server-session-lifecycle", "2025-11-25"),
    ("http-header-validation", "2026-07-28"),
]

pytestmark = [needs_packages, pytest.mark.timeout(WITHIN_S + 60)]


async def run_suite(tmp_path: Path, *arguments: str) -> str:
    """Run the suite, and fail with what it prints if a scenario fails. Returns what it prints."""
    process = await asyncio.create_subprocess_exec(
        find_node(),
        str(SUITE),
        *arguments,
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), WITHIN_S)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, out.decode()[-6000:]
    return out.decode()


async def run_scenarios(
    tmp_path: Path, scenarios: Iterable[tuple[str, str]], *arguments: str
) -> None:
    """Run scenarios, each of a revision, two at a time. The suite starts all scenarios of a client
    at once, which on a busy machine takes longer than clients wait for an answer."""
    slots = asyncio.Semaphore(2)

    async def examine(scenario: str, revision: str) -> None:
        given = ("--scenario", scenario, "--spec-version", revision)
        async with slots:
            await run_suite(tmp_path, *arguments, *given, *_keep(tmp_path))

    async with asyncio.TaskGroup() as group:
        for scenario, revision in scenarios:
            group.create_task(examine(scenario, revision))


async def list_client_scenarios(tmp_path: Path, revision: str) -> list[tuple[str, str]]:
    """Return the scenarios that a revision requires of a client."""
    listed = await run_suite(tmp_path, "list", "--client", "--requirements", revision)
    required = listed.partition("Client scenarios")[2].partition("never scored")[0]
    return [(name, revision) for name in re.findall(r"^  - (\S+)$", required, re.MULTILINE)]


def _keep(tmp_path: Path) -> tuple[str, str]:
    """Return the options that keep the results of scenarios in a folder."""
    return ("-o", str(tmp_path / "results"))


def _client(*arguments: str) -> tuple[str, ...]:
    return ("client", "--command", f"{sys.executable} {HERE / 'client.py'}", *arguments)


@asynccontextmanager
async def serve(tmp_path: Path) -> AsyncGenerator[str]:
    """Start the server with the agents of the suite, and yield its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.conformance.mcp.server",
        str(tmp_path / "data"),
        cwd=HERE.parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        yield line.decode().strip()
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize(("scenario", "revision"), CLIENT_SCENARIOS)
def test_the_client_passes_a_scenario(scenario: str, revision: str, tmp_path: Path):
    given = ("--scenario", scenario, "--spec-version", revision)
    asyncio.run(run_suite(tmp_path, *_client(*given), *_keep(tmp_path)))


@pytest.mark.skipif(not SOAKS, reason="runs in `make soak`")
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_client_passes_everything_that_a_revision_requires(revision: str, tmp_path: Path):
    async def main() -> None:
        scenarios = await list_client_scenarios(tmp_path, revision)
        assert len(scenarios) >= 18
        await run_scenarios(tmp_path, scenarios, *_client("--timeout", "240000"))

    asyncio.run(main())


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_server_fails_only_the_scenarios_of_the_baseline(revision: str, tmp_path: Path):
    async def main() -> None:
        async with serve(tmp_path) as url:
            known = ("--expected-failures", str(HERE / "baseline.yml"))
            given = ("server", "--url", url, "--requirements", revision, *known)
            await run_suite(tmp_path, *given, *_keep(tmp_path))

    asyncio.run(main())


def test_the_server_passes_more_than_is_required(tmp_path: Path):
    async def main() -> None:
        async with serve(tmp_path) as url:
            await run_scenarios(tmp_path, MORE_SERVER_SCENARIOS, "server", "--url", url)

    asyncio.run(main())

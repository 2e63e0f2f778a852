"""Servers that tell that their list of tools has changed."""

from __future__ import annotations

import asyncio
import sys

import pytest

from headrace import MCP, Agent
from tests.mcp.play import FOLDER, agent_with, calling, play


@pytest.mark.parametrize("mode", ["legacy", "modern"])
def test_a_tool_that_is_added_is_offered_in_the_next_run(mode: str):
    async def main() -> None:
        server = MCP([sys.executable, str(FOLDER / "changing_server.py"), mode], name="changing")
        try:
            agent = Agent("rehearsal:demo", tools=[server])
            assert (await agent.load_tools()).tools.names == ("grow",)
            while not server._link.is_told:
                # From now on the list is asked for only if it has changed.
                await asyncio.sleep(0.01)
            await play(agent_with(calling("grow"), server))
            for _ in range(200):
                names = (await agent.load_tools()).tools.names
                if names == ("grow", "added"):
                    return
                await asyncio.sleep(0.02)
            pytest.fail(f"the list is still {names}")
        finally:
            await server.aclose()

    asyncio.run(main())

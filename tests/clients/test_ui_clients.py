"""The AI SDK's and AG-UI's own clients against a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.clients.node_client import check_results, run_checks
from tests.clients.ui_agents import create_agents
from tests.server.serving import served


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("script", "count"), [("ai_sdk.mjs", 17), ("ag_ui.mjs", 11)])
def test_the_client_of_the_protocol(script: str, count: int, tmp_path: Path) -> None:
    async def main() -> Any:
        agents = create_agents()
        async with served(agents, tmp_path) as server:
            results = await run_checks(script, server.url)
            await server.idle()
        return results, agents

    results, agents = asyncio.run(main())
    check_results(results, count)
    requests = str(agents["echo"]._endpoint["transport"].requests)
    assert "iVBORw0KGgo=" in requests

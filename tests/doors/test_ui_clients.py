"""The AI SDK's and AG-UI's own clients for Node. One process of each makes all checks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.clients.node import needs_packages, run_script
from tests.doors.ui_agents import create_agents, requests_of
from tests.server.serving import served

PNG = "iVBORw0KGgo="


@needs_packages
@pytest.mark.timeout(150)
@pytest.mark.parametrize(("script", "count"), [("ai_sdk.mjs", 18), ("ag_ui.mjs", 12)])
def test_the_client_of_the_protocol(script: str, count: int, tmp_path: Path) -> None:
    agents = create_agents()

    async def main() -> dict[str, Any]:
        async with served(agents, tmp_path) as server:
            errors: dict[str, Any] = await run_script(script, server.url)
            await server.idle()
            return errors

    errors = asyncio.run(main())
    failed = [f"{name}: {error}" for name, error in errors.items() if error is not None]
    assert not failed, "\n\n".join(failed)
    assert len(errors) == count
    assert PNG in str(requests_of(agents["echo"]))

"""A user whose tools do not end when they are stopped fills the process of others with nothing."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from headrace.rehearsal.script import call, say, turn
from headrace.tools.left_behind import MAX_CALLS_PER_USER, PROCESS_CALLS
from tests.server.serving import Served, scripted, served
from tests.server.tokens import create_token


def test_stopped_tools_that_go_on_are_limited_for_each_user(tmp_path: Path) -> None:
    started, end = threading.Semaphore(0), threading.Event()

    def stubborn() -> str:
        """Ignore that the call was stopped."""
        started.release()
        end.wait(120)
        return "late"

    async def cancel_call(server: Served, headers: Any) -> None:
        async with server.open("Go.", headers=headers) as response:
            assert await asyncio.to_thread(started.acquire, timeout=60)
            path = f"/api/chat/{response.headers['x-event-id']}/cancel"
            async with server.http.post(server.url + path, headers=headers) as answer:
                assert (await answer.json())["was_live"]
            await response.read()

    async def main() -> None:
        agent = scripted(turn(call("stubborn")), turn(say("Done.")), tools=[stubborn])
        async with served(agent, tmp_path, needs_token=True) as server:
            anna, bob = (
                {"authorization": f"Bearer {create_token(server.service, name)}"}
                for name in ("anna", "bob")
            )
            for _ in range(MAX_CALLS_PER_USER):
                await cancel_call(server, anna)
            assert len(PROCESS_CALLS) == MAX_CALLS_PER_USER
            async with server.open("Go.", headers=anna, protocol="ux") as response:
                data = (await response.read()).decode()
            assert f"stubborn was not run: {MAX_CALLS_PER_USER} stopped calls" in data
            await cancel_call(server, bob)
            end.set()
            while len(PROCESS_CALLS):
                await asyncio.sleep(0.001)
            async with server.open("Go.", headers=anna, protocol="ux") as response:
                assert "was not run" not in (await response.read()).decode()

    try:
        asyncio.run(asyncio.wait_for(main(), 120))
    finally:
        end.set()

"""What is over holds nothing, itself least of all: a server under load collects seldom, and what
only the collector can free is memory that every stream leaves behind."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.rehearsal.script import call, say, think, turn
from headrace.tools.builtin import calculator
from tests.server.serving import Served, scripted, served

_RUNS = 24
_EACH = _RUNS // 3
"""How many runs end in each way. What one way leaves behind grows by at least as much; less is
what a busy machine has not finished yet."""
_SCRIPT = [turn(think("Hm."), call("calculator", expression="6 * 7")), turn(say("It is 42."))]


def _counted() -> Counter[str]:
    """Objects of ours, by kind, without a collection."""
    kinds = (type(one) for one in gc.get_objects())
    return Counter(f"{k.__module__}.{k.__name__}" for k in kinds if _is_ours(k))


def _is_ours(kind: type) -> bool:
    module: Any = kind.__module__
    return isinstance(module, str) and module.startswith("headrace.")


async def _some(server: Served, protocol: str) -> None:
    for number in range(_RUNS):
        async with server.open("Go.", protocol=protocol) as response:
            event_id = response.headers["x-event-id"]
            if number % 3 == 0:
                await response.content.readany()
                continue
            if number % 3 == 1:
                url = f"{server.url}/api/chat/{event_id}/cancel"
                async with server.http.post(url, json={}) as cancelled:
                    assert cancelled.status == 200
            await response.read()
    await server.idle()
    await asyncio.sleep(0.05)


async def _grown(before: Counter[str]) -> dict[str, int]:
    """What is more, and stays: streams that were cut may end a moment later."""
    for _ in range(500):
        grown = {kind: more for kind, more in (_counted() - before).items() if more >= _EACH}
        if not grown:
            break
        await asyncio.sleep(0.02)
    return grown


def test_runs_that_are_over_are_freed_without_a_collection(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(
            scripted(*_SCRIPT, tools=[calculator], keeps_requests=False), tmp_path
        ) as server:
            await _some(server, "ux")
            await _some(server, "thinking")
            gc.collect()
            gc.disable()
            try:
                before = _counted()
                await _some(server, "ux")
                await _some(server, "thinking")
                grown = await _grown(before)
            finally:
                gc.enable()
            assert grown == {}

    asyncio.run(main())

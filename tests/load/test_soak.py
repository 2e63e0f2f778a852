"""Streams by the thousand, read, dropped, resumed and cancelled: nothing of them stays."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import tracemalloc
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.projections.registry import PROTOCOLS
from headrace.rehearsal.script import say, think, turn
from tests.server.serving import Served, scripted, served

STREAMS = int(os.environ.get("HEADRACE_SOAK_STREAMS", "60"))
_AT_ONCE = 40
_WARM = 40
# The server itself, its two chores, its lifespan, and the test.
_READERS = 2
_OWN_TASKS = 5
# Caches of the client fill meanwhile. A task or a frame that stayed for each stream is more.
_MAX_GROWTH_BYTES = 500_000 + 300 * STREAMS
ANSWER = turn(
    think("Let me see. " + " ".join(f"thought-{n}" for n in range(15))),
    say(" ".join(f"word-{n}" for n in range(40))),
    pace_s=0.003,
)


async def read(server: Served, event_id: str, response: Any, chance: random.Random) -> None:
    await response.read()


async def drop(server: Served, event_id: str, response: Any, chance: random.Random) -> None:
    await response.content.readany()


async def drop_and_resume(
    server: Served, event_id: str, response: Any, chance: random.Random
) -> None:
    await response.content.readany()
    response.close()
    await asyncio.sleep(chance.random() * 0.1)
    protocol = chance.choice(list(PROTOCOLS))
    async with server.resume(event_id, f"{chance.randrange(40)}.1", protocol) as again:
        await again.read()


async def cancel(server: Served, event_id: str, response: Any, chance: random.Random) -> None:
    await asyncio.sleep(chance.random() * 0.1)
    async with server.http.post(f"{server.url}/api/chat/{event_id}/cancel", json={}) as answer:
        assert answer.status == 200
    await response.read()


WAYS = (read, drop, drop_and_resume, cancel)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
@pytest.mark.timeout(60 + STREAMS)
def test_memory_tasks_and_files_return(tmp_path: Path) -> None:
    asyncio.run(_soak(tmp_path))


async def _soak(data: Path) -> None:
    chance = random.Random(6)
    async with served(
        scripted(ANSWER, keeps_requests=False), data, heartbeat_s=0.05, send_timeout_s=1.0
    ) as server:
        await server.http.close()
        await _some(server, _WARM, chance)
        tracemalloc.start()
        before = await _rest(server)
        await _some(server, STREAMS, chance)
        after = await _rest(server, before)
        tracemalloc.stop()
        assert server.service.runs.total == _WARM + STREAMS
        assert server.service.store.message_writes == server.service.runs.total
    (tasks, files, _), (tasks_then, files_then, _) = before, after
    growth = after[2] - before[2]
    print(f"soak: {STREAMS} streams; {growth / 1024:.0f} KB more, tasks {tasks} → {tasks_then}")
    assert tasks_then <= tasks
    # Readers of the database open their two files when they are needed.
    assert files_then <= files + 2 * _READERS
    assert growth < _MAX_GROWTH_BYTES


async def _some(server: Served, streams: int, chance: random.Random) -> None:
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(way: Any) -> None:
        async with room, server.open("Go.", protocol=chance.choice(list(PROTOCOLS))) as response:
            assert response.status == 200, await response.text()
            await way(server, response.headers["x-event-id"], response, chance)

    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    async with aiohttp.ClientSession(connector=connector) as server.http:
        await asyncio.gather(*(one(chance.choice(WAYS)) for _ in range(streams)))
    await server.idle()


async def _rest(server: Served, wanted: tuple[int, int, int] | None = None) -> tuple[int, int, int]:
    """Tasks, open files and bytes, when the server has come to rest."""
    for _ in range(200):
        await asyncio.sleep(0.02)
        tasks, files = len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd"))
        if wanted is not None and tasks <= wanted[0] and files <= wanted[1]:
            break
        if wanted is None and tasks <= _OWN_TASKS:
            break
    gc.collect()
    return tasks, files, tracemalloc.get_traced_memory()[0]

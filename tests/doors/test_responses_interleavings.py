"""Clients that resume a response and others that stop it, in any order: all see the same events."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

from headrace.testing import call, say, think, turn
from headrace.tools import tool
from tests.doors.event_loop import in_loop
from tests.doors.responses_frames import check_stream
from tests.doors.test_responses import door
from tests.server.serving import Served, frames, scripted

COUNT = int(os.environ.get("HEADRACE_SOAK_INTERLEAVINGS", "200"))
AT_ONCE = 12


@tool
async def look() -> str:
    """Look something up."""
    await asyncio.sleep(0.01)
    return "found"


async def read(server: Served, response_id: str, after: int | None) -> list[dict[str, Any]]:
    """The events after one, up to the end."""
    query = "" if after is None else f"&starting_after={after}"
    url = f"{server.url}/v1/responses/{response_id}?stream=true{query}"
    async with server.http.get(url) as response:
        assert response.status == 200
        return [json.loads(payload) for _, payload in frames(await response.read())]


async def interleave(client: Any, server: Served, seed: int) -> str:
    """Start a response, read it from several places, and stop it at some moment or never. Returns
    its status."""
    dice = random.Random(seed)
    begun = await client.responses.create(model="default", input="?", background=True)

    async def resume() -> tuple[int | None, list[dict[str, Any]]]:
        await asyncio.sleep(dice.uniform(0, 0.12))
        after = dice.choice([None, 0, 1, 3])
        return after, await read(server, begun.id, after)

    async def stop() -> None:
        await asyncio.sleep(dice.uniform(0, 0.2))
        await client.responses.cancel(begun.id)

    stops = dice.choice([0, 1, 2])
    stopping = asyncio.gather(*(stop() for _ in range(stops)))
    readings = await asyncio.gather(*(resume() for _ in range(3)))
    await stopping
    whole = await read(server, begun.id, None)
    check_stream(whole)
    for after, events in readings:
        assert events == whole[0 if after is None else after + 1 :]
    final = await client.responses.retrieve(begun.id)
    assert final.status == whole[-1]["response"]["status"]
    assert final.to_dict()["output"] == whole[-1]["response"]["output"]
    assert stops or final.status == "completed"
    return str(final.status)


@in_loop
async def test_resuming_and_stopping_in_any_order(tmp_path: Path) -> None:
    agent = scripted(
        turn(think("Let me look it up.", deltas=3), call("look"), pace_s=0.004),
        turn(say("It is found, as it seems.", deltas=2), pace_s=0.004),
        tools=[look],
    )
    statuses: list[str] = []
    async with door(agent, tmp_path) as (client, server):
        for start in range(0, COUNT, AT_ONCE):
            batch = range(start, min(start + AT_ONCE, COUNT))
            statuses += await asyncio.gather(*(interleave(client, server, at) for at in batch))
        await server.idle()
    assert {*statuses} == {"completed", "cancelled"}

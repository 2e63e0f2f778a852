"""When the disk is full: clients that were there and clients that come later see the same end."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.projections.registry import PROTOCOLS
from headrace.rehearsal.script import say, think, turn
from tests.server.serving import frames, scripted, served

SECRET = "disk-internals-4711"
TURN = turn(think("Hm, let me see."), say("one two three four five six seven eight"), pace_s=0.02)
STOPS = {
    "in the log": ("record_batches", "record_chunks"),
    "in the commit": ("messages",),
}


def execute(sql: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(sql)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("where", STOPS)
def test_the_last_frames_are_the_same_live_and_later(
    tmp_path: Path, protocol: str, where: str
) -> None:
    async def main() -> None:
        async with served(scripted(TURN), tmp_path) as server:
            write = server.service.database.write
            async with server.open("Go.", protocol=protocol) as response:
                seen = await response.content.readany()
                for table in STOPS[where]:
                    await write(
                        execute(
                            f"CREATE TRIGGER stop_{table} BEFORE INSERT ON {table}"
                            f" BEGIN SELECT RAISE(ABORT, '{SECRET}'); END"
                        )
                    )
                seen += await response.read()
                event_id = response.headers["x-event-id"]
            await server.idle()
            for table in STOPS[where]:
                await write(execute(f"DROP TRIGGER stop_{table}"))
            await server.service.repair()
            async with server.resume(event_id, protocol=protocol) as again:
                later = await again.read()
            assert SECRET not in (seen + later).decode()
            assert frames(later) == frames(seen)

    asyncio.run(main())

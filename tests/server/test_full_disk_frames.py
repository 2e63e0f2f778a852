"""When the disk is full: clients that were there and clients that come later see the same end."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.projections.registry import PROTOCOLS
from headrace.rehearsal.script import say, think, turn
from headrace.server.storage.errors import StorageFailed
from tests.server.serving import Served, frames, scripted, served

SECRET = "disk-internals-4711"
TURN = turn(think("Hm, let me see."), say("one two three four five six seven eight"), pace_s=0.02)
STOPS = {
    "in the log": ("record_batches", "record_chunks"),
    "in the commit": ("messages",),
}


def execute(sql: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(sql)


async def stop_writing(server: Served, where: str) -> None:
    """From now on, nothing can be written there."""
    for table in STOPS[where]:
        await server.service.database.write(
            execute(
                f"CREATE TRIGGER stop_{table} BEFORE INSERT ON {table}"
                f" BEGIN SELECT RAISE(ABORT, '{SECRET}'); END"
            )
        )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("where", STOPS)
def test_the_last_frames_are_the_same_live_and_later(
    tmp_path: Path, protocol: str, where: str
) -> None:
    async def main() -> None:
        async with served(scripted(TURN), tmp_path) as server:
            async with server.open("Go.", protocol=protocol) as response:
                seen = await response.content.readany()
                await stop_writing(server, where)
                seen += await response.read()
                event_id = response.headers["x-event-id"]
            await server.idle()
            for table in STOPS[where]:
                await server.service.database.write(execute(f"DROP TRIGGER stop_{table}"))
            await server.service.repair()
            async with server.resume(event_id, protocol=protocol) as again:
                later = await again.read()
            assert SECRET not in (seen + later).decode()
            assert frames(later) == frames(seen)

    asyncio.run(main())


class _FailingTail:
    """The log of a run, which cannot be written any more once `is_full` is set."""

    def __init__(self, tail: Any, is_full: asyncio.Event) -> None:
        self._tail = tail
        self._is_full = is_full

    def put(self, records: Any, done: Any) -> None:
        if self._is_full.is_set():
            done(OSError(SECRET))
        else:
            self._tail.put(records, done)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_error_of_any_log_is_shown_to_nobody(
    tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with served(scripted(TURN), tmp_path) as server:
            log, is_full = server.service.log, asyncio.Event()
            open_tail = log.tail

            def open_failing(run_id: str, epoch: int = 0) -> _FailingTail:
                return _FailingTail(open_tail(run_id, epoch), is_full)

            monkeypatch.setattr(log, "tail", open_failing)
            async with server.open("Go.", protocol=protocol) as response:
                seen = await response.content.readany()
                is_full.set()
                seen += await response.read()
                event_id = response.headers["x-event-id"]
            await server.idle()
            async with server.resume(event_id, protocol=protocol) as again:
                later = await again.read()
            assert SECRET not in (seen + later).decode()
            assert frames(later) == frames(seen)

    asyncio.run(main())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_log_that_cannot_even_be_read_shows_no_internals(
    tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> Any:
        raise StorageFailed(SECRET)

    async def main() -> None:
        async with served(scripted(TURN), tmp_path) as server:
            async with server.open("Go.", protocol=protocol) as response:
                seen = await response.content.readany()
                await stop_writing(server, "in the log")
                monkeypatch.setattr(server.service.log, "read", fail)
                seen += await response.read()
            assert SECRET not in seen.decode()
            assert "could not be saved" in seen.decode()

    asyncio.run(main())

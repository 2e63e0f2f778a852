"""The system clock may be wrong, and be set: nothing is lost because of it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from headrace.rehearsal.script import say, turn
from headrace.server.service import now_ms
from headrace.server.storage.sqlite.clock_check import ClockCheck
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore
from tests.server.serving import frames, scripted, served

HOUR = 3_600_000
DAY = 24 * HOUR


def check(data: Path, *times_ms: int) -> list[bool]:
    """What each of these times is worth, one after the other, each after a restart."""

    async def ask(at_ms: int) -> bool:
        database = Database(data / "clock.db")
        try:
            SQLiteStore(database)
            return await ClockCheck(database).is_trusted(at_ms)
        finally:
            database.close()

    return [asyncio.run(ask(at_ms)) for at_ms in times_ms]


def test_a_clock_that_goes_on_is_trusted(tmp_path: Path) -> None:
    assert check(tmp_path, 10 * DAY, 10 * DAY + HOUR, 11 * DAY, 12 * DAY) == [True] * 4


def test_a_clock_that_jumps_is_trusted_after_a_day(tmp_path: Path) -> None:
    times = 10 * DAY, 40 * DAY, 40 * DAY + HOUR, 41 * DAY - 1, 41 * DAY, 41 * DAY + HOUR
    assert check(tmp_path, *times) == [True, False, False, False, True, True]


def test_a_clock_that_is_set_right_is_trusted_at_once(tmp_path: Path) -> None:
    times = 10 * DAY, 40 * DAY, 10 * DAY + HOUR, 10 * DAY + 2 * HOUR
    assert check(tmp_path, *times) == [True, False, True, True]


def test_a_server_that_runs_a_little_once_a_week_expires_something_at_times(
    tmp_path: Path,
) -> None:
    assert True in check(tmp_path, *(week * 7 * DAY for week in range(1, 4)))[1:]


def test_nothing_expires_because_the_clock_is_a_month_ahead_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        agent = scripted(turn(say("Hello.")))
        async with served(agent, tmp_path) as server:
            event_id, _, whole = await server.ask("Hi.")
            # The first round of the chores has noted the time.
            assert await server.service.run_chores.expire_records() == 0
        with caplog.at_level(logging.WARNING, "headrace.server"):
            async with served(agent, tmp_path) as server:
                server.service.clock = lambda: now_ms() + 30 * DAY
                assert await server.service.run_chores.expire_records() == 0
                async with server.resume(event_id) as again:
                    assert frames(await again.read()) == frames(whole)
        assert "hours ahead" in caplog.text

    asyncio.run(main())

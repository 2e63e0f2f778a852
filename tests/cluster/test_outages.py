"""A database that goes away: runs wait for it and go on; if it stays away, everyone is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace.engine import Agent
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.storage.postgres import pool as postgres_pool
from headrace.testing import say, turn
from headrace.transport.retry import NEVER
from tests.postgres import PostgresServer
from tests.server.serving import frames, served

_WORDS = [f"word{number} " for number in range(120)]


def speaking() -> Agent:
    """An agent that answers for about two seconds."""
    played = turn(say(pieces=_WORDS), pace_s=0.015)
    return Agent("vllm:any", transport=ScriptedTransport(lambda heard: played), policy=NEVER)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_runs_wait_for_a_database_that_is_restarted(how: str, tmp_path: Path) -> None:
    database = PostgresServer()
    url = database.create_database()

    async def main() -> None:
        async with (
            served(speaking(), tmp_path / "a", store=url) as first,
            served(speaking(), tmp_path / "b", store=url) as second,
        ):
            async with first.open("Go.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                seen = await response.content.readany()
                watching = asyncio.create_task(_read(second, event_id))
                await asyncio.sleep(0.3)
                await asyncio.to_thread(getattr(database, how))
                await asyncio.sleep(0.5)
                await asyncio.to_thread(database.start)
                seen += await response.read()
            text = "".join(_WORDS).strip()
            assert text in seen.decode()
            assert b"message_final" in seen
            assert await watching == frames(seen)
            assert await _read(second, event_id) == frames(seen)

    try:
        asyncio.run(main())
    finally:
        database.remove()


async def _read(site: Any, event_id: str) -> list[tuple[str, str]]:
    async with site.resume(event_id, protocol="ux") as response:
        assert response.status == 200
        return frames(await response.read())


def test_everyone_is_told_if_the_database_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "OUTAGE_S", 1.0)
    database = PostgresServer()
    url = database.create_database()

    async def main() -> None:
        async with served(speaking(), tmp_path / "a", store=url) as site:
            async with site.open("Go.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                seen = await response.content.readany()
                await asyncio.to_thread(database.stop)
                seen += await response.read()
            assert b"message_error" in seen
            status, body = await site.get("/readyz")
            assert (status, body["is_ready"]) == (503, False)
            await asyncio.to_thread(database.start)
            # What could not be saved is saved, and the stream stays as it was sent.
            for _ in range(300):
                await site.service.repair()
                if not (await site.service.store.run("local", event_id)).is_live:
                    break
                await asyncio.sleep(0.05)
            again = await _read(site, event_id)
            assert again == frames(seen)

    try:
        asyncio.run(main())
    finally:
        database.remove()

"""Complaints of users about streams that several servers share, as tests: streams that break at
another replica, cursors that replay everything, ends that get lost, and a row for every chunk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from headrace.engine import Agent
from headrace.rehearsal.script import say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.cluster.places import SHARED, create_place
from tests.complaints.test_doors import wait_for
from tests.server.serving import Served, frames, served

WORDS = [f"word-{number} " for number in range(60)]


def speaking(pace_s: float = 0.01) -> ScriptedTransport:
    """A model that answers for a little more than half a second."""
    played = turn(think("hm"), say(pieces=WORDS), pace_s=pace_s)
    return ScriptedTransport(lambda heard: played)


@asynccontextmanager
async def serving(
    kind: str, folder: Path, transport: ScriptedTransport
) -> AsyncIterator[tuple[Served, Served]]:
    """Two servers that share what they store."""
    place = create_place(kind)
    async with AsyncExitStack() as stack:
        agents = (Agent("vllm:any", transport=transport, policy=NEVER) for _ in range(2))
        first, second = [
            await stack.enter_async_context(served(agent, folder / str(number), **place))
            for number, agent in enumerate(agents)
        ]
        yield first, second


def _has_no_watchers(site: Served) -> bool:
    return len(site.service.watchers) == 0


async def read(site: Served, event_id: str, after: str = "0") -> list[tuple[str, str]]:
    async with asyncio.timeout(20), site.resume(event_id, after, "ux") as response:
        assert response.status == 200, await response.text()
        return frames(await response.read())


@pytest.mark.parametrize("kind", SHARED)
def test_librechat_13117_14059_14411_a_second_answer_is_whole_at_another_replica(
    kind: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with serving(kind, tmp_path, speaking()) as (first, second):
            _, conversation, _ = await first.ask("Go.", protocol="ux")
            async with first.open("Again.", conversation_id=conversation, protocol="ux") as asked:
                event_id = asked.headers["x-event-id"]
                live = await read(second, event_id)
                assert live == frames(await asked.read())
            assert "".join(WORDS).strip() in str(live)
            for number, frame in enumerate(live):
                if number % 9 == 0:
                    assert await read(second, event_id, frame[0]) == live[number + 1 :]

    asyncio.run(main())


@pytest.mark.parametrize("kind", SHARED)
def test_librechat_13396_a_stop_at_another_replica_leaves_no_generation_behind(
    kind: str, tmp_path: Path
) -> None:
    transport = speaking(0.2)

    async def main() -> None:
        async with serving(kind, tmp_path, transport) as (first, second):
            async with first.open("Go.", protocol="ux") as asked:
                event_id = asked.headers["x-event-id"]
                await asked.content.readany()
                await wait_for(lambda: transport.open_streams == 1)
                url = f"{second.url}/api/chat/{event_id}/cancel"
                async with second.http.post(url) as cancelled:
                    assert cancelled.status == 200
                await asked.read()
            await wait_for(lambda: not transport.open_streams)
            assert first.service.runs.count == second.service.runs.count == 0

    asyncio.run(main())


@pytest.mark.parametrize("kind", SHARED)
def test_deer_flow_4011_a_negative_cursor_is_refused_and_replays_nothing(
    kind: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with serving(kind, tmp_path, speaking(0.0)) as (first, second):
            event_id, _, _ = await first.ask("Go.", protocol="ux")
            for site, cursor in product((first, second), ("-1", "-0", "0.-1", "+1")):
                async with site.resume(event_id, cursor, "ux") as response:
                    assert response.status == 400
                    assert (await response.json())["error"]["message"]

    asyncio.run(main())


@pytest.mark.parametrize("kind", SHARED)
def test_resumable_stream_47_41_44_chatbot_1237_every_reader_gets_the_end_whenever_it_comes(
    kind: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with serving(kind, tmp_path, speaking()) as (first, second):
            async with first.open("Go.", protocol="ux") as asked:
                event_id = asked.headers["x-event-id"]
                readers: list[asyncio.Task[Any]] = []
                for number in range(40):
                    site = (first, second)[number % 2]
                    readers.append(asyncio.create_task(read(site, event_id)))
                    await asyncio.sleep(0.02)
                whole = frames(await asked.read())
            assert "message_final" in whole[-1][1]
            readers += [asyncio.create_task(read(site, event_id)) for site in (first, second)]
            for seen in await asyncio.gather(*readers):
                assert seen == whole

    asyncio.run(main())


@pytest.mark.parametrize("kind", SHARED)
def test_resumable_stream_30_readers_that_leave_are_forgotten(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(kind, tmp_path, speaking(0.03)) as (first, second):
            async with first.open("Go.", protocol="ux") as asked:
                event_id = asked.headers["x-event-id"]
                for number in range(30):
                    async with (first, second)[number % 2].resume(event_id, protocol="ux") as left:
                        await left.content.readany()
                await asked.read()
            for site in (first, second):
                await wait_for(partial(_has_no_watchers, site))

    asyncio.run(main())


def test_cloudflare_agents_1681_1706_an_answer_is_few_rows_in_sqlite(tmp_path: Path) -> None:
    async def main() -> None:
        agent = Agent("vllm:any", transport=speaking(0.0), policy=NEVER)
        async with served(agent, tmp_path) as site:
            event_id, _, _ = await site.ask("Go.", protocol="ux")
            row = await site.service.store.run("local", event_id)
            records = await site.service.log.read(row.id)

            def count(connection: sqlite3.Connection) -> int:
                query = "SELECT count(*) FROM record_chunks WHERE run_id = ?"
                return int(connection.execute(query, (row.id,)).fetchone()[0])

            rows = await site.service.database.write(count)
            assert len(records) > len(WORDS)
            assert rows <= len(records) / 20

    asyncio.run(main())


@pytest.mark.parametrize("kind", SHARED)
def test_cloudflare_agents_1681_1706_an_answer_is_few_rows_in_postgresql(
    kind: str, tmp_path: Path
) -> None:
    place = create_place(kind)

    async def main() -> None:
        agent = Agent("vllm:any", transport=speaking(0.0), policy=NEVER)
        async with served(agent, tmp_path, **place) as site:
            event_id, _, _ = await site.ask("Go.", protocol="ux")
            row = await site.service.store.run("local", event_id)
            records = await site.service.log.read(row.id)
            connection = await asyncpg.connect(place["store"])
            rows = await connection.fetchval(
                "SELECT count(*) FROM log_chunks WHERE run_id = $1", row.id
            )
            await connection.close()
            assert len(records) > len(WORDS)
            assert rows <= len(records) / 5

    asyncio.run(main())

"""A database that goes away: runs wait for it and go on; if it stays away, everyone is told."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from headrace.engine import Agent
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.storage import outage
from headrace.testing import say, turn
from headrace.transport.retry import NEVER
from tests.cluster.proxy import proxied
from tests.postgres import PostgresServer, shared_server
from tests.server.serving import Served, frames, served

_ENDS = ("message_final", "message_error", "message_cancelled")
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


def test_nothing_is_lost_or_doubled_if_replies_of_the_database_are_lost(tmp_path: Path) -> None:
    """The database has stored what the server does not know about: it sends it again."""

    async def main() -> None:
        async with proxied(shared_server().create_database()) as proxy:
            async with (
                served(speaking(), tmp_path / "a", store=proxy.url) as first,
                served(speaking(), tmp_path / "b", store=proxy.url) as second,
            ):
                proxy.loses_replies = 0.01
                streams = await asyncio.gather(*(_ask(first, second) for _ in range(8)))
                proxy.loses_replies = 0.0
                for event_id, seen in streams:
                    for site in (first, second):
                        assert await _read(site, event_id) == seen
                    assert "".join(_WORDS).strip() in seen[-1][1]
                    row = await first.service.store.run("local", event_id)
                    records = await first.service.log.read(row.id)
                    assert [one.seq for one in records] == list(range(1, len(records) + 1))
            assert proxy.lost > 5

    asyncio.run(main())


def test_a_question_is_answered_if_the_connection_is_lost_after_it_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        store = shared_server().create_database()
        async with served(speaking(), tmp_path, store=store) as site:
            branch = site.service.store.branch
            calls: list[tuple[Any, ...]] = []

            async def lose(*values: Any) -> Any:
                calls.append(values)
                if len(calls) == 1:
                    raise outage.ConnectionLost("the connection is lost")
                return await branch(*values)

            monkeypatch.setattr(site.service.store, "branch", lose)
            _, _, data = await site.ask("Go.", protocol="ux")
            assert "message_final" in frames(data)[-1][1]
            assert len(calls) == 2

    asyncio.run(main())


async def _ask(first: Served, second: Served) -> tuple[str, list[tuple[str, str]]]:
    """Ask, and read the stream at both servers in turn until it ends, however often it breaks.
    The same question is sent again with the same key until it is accepted."""
    headers = {"idempotency-key": uuid.uuid4().hex}
    event_id: str | None = None
    while event_id is None:
        async with first.open("Go.", headers=headers, protocol="ux") as response:
            if response.status == 200:
                event_id = response.headers["x-event-id"]
            else:
                assert response.status == 503, await response.text()
                await asyncio.sleep(0.02)
    seen: list[tuple[str, str]] = []
    sites = itertools.cycle((second, first))
    while not seen or not any(end in seen[-1][1] for end in _ENDS):
        after = seen[-1][0] if seen else "0"
        async with next(sites).resume(event_id, after, protocol="ux") as response:
            if response.status == 200:
                data = await _read_until_it_breaks(response)
                seen += frames(data[: data.rfind(b"\n\n") + 2])
            else:
                assert response.status == 503, await response.text()
                await asyncio.sleep(0.02)
    return event_id, seen


async def _read_until_it_breaks(response: aiohttp.ClientResponse) -> bytes:
    data = b""
    with suppress(aiohttp.ClientPayloadError):
        async for chunk in response.content.iter_any():
            data += chunk
    return data


def test_runs_go_on_after_the_database_was_frozen(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            proxied(shared_server().create_database()) as proxy,
            served(speaking(), tmp_path / "a", store=proxy.url) as site,
            site.open("Go.", protocol="ux") as response,
        ):
            seen = await response.content.readany()
            proxy.freeze()
            await asyncio.sleep(5)
            proxy.thaw()
            seen += await response.read()
            assert "".join(_WORDS).strip() in seen.decode()
            assert b"message_final" in seen

    asyncio.run(main())


def test_everyone_is_told_if_the_database_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "OUTAGE_S", 1.0)
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


def test_a_frame_that_another_server_has_sent_first_is_waited_for(tmp_path: Path) -> None:
    """Another server may read a record before the one that has written it knows that it is stored.
    Here the client names a record that is stored a moment later."""

    async def main() -> None:
        async with (
            served(speaking(), tmp_path, store=shared_server().create_database()) as site,
            site.open("Go.", protocol="ux") as response,
        ):
            event_id = response.headers["x-event-id"]
            seen = await response.content.readany()
            live = site.service.runs.get(event_id)
            assert live is not None
            ahead = f"{live.last_seq + 5}.1"
            async with site.resume(event_id, ahead, "ux") as resumed:
                assert resumed.status == 200
                rest = frames(await resumed.read())
            seen += await response.read()
            assert rest
            assert frames(seen)[-len(rest) :] == rest
            async with site.resume(event_id, "9999.1", "ux") as unknown:
                assert unknown.status == 410

    asyncio.run(main())

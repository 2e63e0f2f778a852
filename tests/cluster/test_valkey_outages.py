"""A Valkey that goes away, answers late, loses replies, or has lost its last second."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.engine import Agent
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server.storage import outage
from headrace.server.storage.postgres.storage import PostgresStorage
from headrace.testing import say, turn
from headrace.transport.retry import NEVER
from tests.cluster.nodes import serve_node
from tests.cluster.proxy import proxied
from tests.cluster.test_lost_servers import ask as ask_process
from tests.cluster.test_lost_servers import read_records, read_to_the_end
from tests.cluster.test_outages import _ask, _read
from tests.postgres import shared_server
from tests.server.server_process import ServerProcess
from tests.server.serving import Served, frames, served
from tests.server.test_continue_after_kill import Reader, _check_log, _whole_frames
from tests.valkey import ValkeyServer, shared_valkey

_WORDS = [f"word{number} " for number in range(200)]
_TEXT = "".join(_WORDS).strip()
_AGENT = "tests.server.resumable_agent:agent"


def speaking(pace_s: float = 0.015) -> Agent:
    """An agent that answers for about three seconds."""
    played = turn(say(pieces=_WORDS), pace_s=pace_s)
    return Agent("vllm:any", transport=ScriptedTransport(lambda heard: played), policy=NEVER)


async def disturb_a_run(tmp_path: Path, valkey: ValkeyServer, disturb: Any) -> PostgresStorage:
    """Ask at one server and watch at another while something happens to Valkey. Both clients must
    see the whole answer, with the same frames as the store has at the end."""
    place = {"store": shared_server().create_database(), "log": valkey.url}
    async with (
        served(speaking(), tmp_path / "a", **place) as first,
        served(speaking(), tmp_path / "b", **place) as second,
    ):
        async with first.open("Go.", protocol="ux") as response:
            event_id = response.headers["x-event-id"]
            seen = await response.content.readany()
            watching = asyncio.create_task(_read(second, event_id))
            await asyncio.sleep(0.3)
            await disturb(first)
            seen += await response.read()
        assert _TEXT in seen.decode()
        assert b"message_final" in seen
        assert await watching == frames(seen)
        for site in (first, second):
            assert await _read(site, event_id) == frames(seen)
        row = await first.service.store.run("local", event_id)
        records = await first.service.log.read(row.id)
        assert [one.seq for one in records] == list(range(1, len(records) + 1))
        storage = first.service.storage
        assert isinstance(storage, PostgresStorage)
        return storage


def test_runs_wait_for_a_log_that_is_killed_and_restarted(tmp_path: Path) -> None:
    valkey = ValkeyServer()

    async def disturb(site: Served) -> None:
        await asyncio.to_thread(valkey.kill)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(valkey.start)

    asyncio.run(disturb_a_run(tmp_path, valkey, disturb))


def test_runs_go_on_after_the_log_was_frozen(tmp_path: Path) -> None:
    valkey = ValkeyServer()

    async def disturb(site: Served) -> None:
        valkey.freeze()
        await asyncio.sleep(5)
        valkey.thaw()

    asyncio.run(disturb_a_run(tmp_path, valkey, disturb))


def test_the_server_appends_again_what_a_power_cut_has_taken(tmp_path: Path) -> None:
    """The last second of what Valkey has accepted is not on its disk. The server of the run is
    alive and has kept it."""
    valkey = ValkeyServer()

    async def disturb(site: Served) -> None:
        log: Any = site.service.log
        held = log._writer.held
        # Right after records were found to be on the disk: until the next question, all later ones
        # may be lost.
        before = held.bytes
        async with asyncio.timeout(10):
            while held.bytes >= before:
                before = held.bytes
                await asyncio.sleep(0.005)
        size = valkey.aof.stat().st_size
        await asyncio.sleep(0.5)
        await asyncio.to_thread(valkey.cut_power, size)
        await asyncio.to_thread(valkey.start)

    storage = asyncio.run(disturb_a_run(tmp_path, valkey, disturb))
    assert storage._live_log is not None
    assert storage._live_log.restored > 0


def test_nothing_is_lost_or_doubled_if_replies_of_the_log_are_lost_or_late(tmp_path: Path) -> None:
    async def main() -> None:
        async with proxied(shared_valkey().empty()) as proxy:
            place = {"store": shared_server().create_database(), "log": proxy.url}
            async with (
                served(speaking(), tmp_path / "a", **place) as first,
                served(speaking(), tmp_path / "b", **place) as second,
            ):
                proxy.loses_replies = 0.01
                proxy.late_s = 0.02
                streams = await asyncio.gather(*(_ask(first, second) for _ in range(8)))
                proxy.loses_replies = proxy.late_s = 0.0
                for event_id, seen in streams:
                    for site in (first, second):
                        assert await _read(site, event_id) == seen
                    assert _TEXT in seen[-1][1]
                    row = await first.service.store.run("local", event_id)
                    records = await first.service.log.read(row.id)
                    assert [one.seq for one in records] == list(range(1, len(records) + 1))
            assert proxy.lost > 5

    asyncio.run(main())


def test_everyone_is_told_if_the_log_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "OUTAGE_S", 1.0)
    valkey = ValkeyServer()
    place = {"store": shared_server().create_database(), "log": valkey.url}

    async def main() -> None:
        async with served(speaking(), tmp_path / "a", **place) as site:
            async with site.open("Go.", protocol="ux") as response:
                event_id = response.headers["x-event-id"]
                seen = await response.content.readany()
                await asyncio.to_thread(valkey.kill)
                seen += await response.read()
            assert b"message_error" in seen
            status, body = await site.get("/readyz")
            assert (status, body["is_ready"]) == (503, False)
            await asyncio.to_thread(valkey.start)
            # What could not be saved is saved, and the stream stays as it was sent.
            for _ in range(300):
                await site.service.repair()
                if not (await site.service.store.run("local", event_id)).is_live:
                    break
                await asyncio.sleep(0.05)
            assert await _read(site, event_id) == frames(seen)

    asyncio.run(main())


def test_a_client_is_told_if_a_power_cut_took_what_it_has_seen_and_its_server_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has the lost records any more. Another server goes on without them, and no client
    reads a mixture of both."""
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(tmp_path / "journal"))
    valkey = ValkeyServer()
    place = {"store": shared_server().create_database(), "log": valkey.url}
    options = (_AGENT, "--on-interrupt", "continue")
    with serve_node(place, tmp_path / "b", *options) as second:
        with serve_node(place, tmp_path / "a", *options) as first:
            event_id, run_id = ask_process(first)
            readers = [Reader(server.url, event_id, "0") for server in (first, second)]
            _wait_for_frames(valkey, readers[1], 1)
            size, early = _wait_for_frames(valkey, readers[0], 4)
            _wait_for_frames(valkey, readers[0], early + 4)
            first.kill()
            readers[0].join(30)
        seen = _whole_frames(readers[0].data)
        valkey.cut_power(size)
        valkey.start()
        # The client that has seen what is lost is told so, whenever it comes back.
        assert len(seen) > early
        whole = _read_whole(second, event_id, run_id)
        assert _resume(second, event_id, seen[-1][0]) == 410
        known = [frame for frame in seen if frame in whole]
        assert 0 < len(known) < len(seen)
        assert whole[: len(known)] == known
        # One that has seen only what is left goes on.
        after = known[-1][0]
        answer = second.http.get(
            f"/api/chat/{event_id}/stream?protocol=ux", headers={"last-event-id": after}
        )
        assert answer.status_code == 200
        assert frames(answer.content) == whole[len(known) :]
        # The other server has sent lost frames too, and has not gone on after them.
        readers[1].join(10)
        watched = _whole_frames(readers[1].data)
        common = sum(a == b for a, b in zip(watched, whole, strict=False))
        assert watched[:common] == whole[:common]
        assert not set(watched[common:]) & set(whole)
    _check_log(read_records(place, run_id))


def _read_whole(server: ServerProcess, event_id: str, run_id: str) -> list[tuple[str, str]]:
    """Read a stream from its beginning, again and again until it comes to its end: it breaks off
    while the log has less than the server knows of."""
    until = time.monotonic() + 60
    while True:
        found = _whole_frames(read_to_the_end(server, event_id, run_id, "0"))
        if found and "message_final" in found[-1][1]:
            return found
        assert time.monotonic() < until, "the run does not end"


def _wait_for_frames(valkey: ValkeyServer, reader: Reader, count: int) -> tuple[int, int]:
    """Wait until a client has got so many frames; return the size of what Valkey has written, and
    how many frames there are."""
    until = time.monotonic() + 20
    while len(_whole_frames(reader.data)) < count:
        assert time.monotonic() < until
        time.sleep(0.005)
    return valkey.aof.stat().st_size, len(_whole_frames(reader.data))


def _resume(server: ServerProcess, event_id: str, after: str) -> int:
    response = server.http.get(
        f"/api/chat/{event_id}/stream?protocol=ux", headers={"last-event-id": after}
    )
    return int(response.status_code)

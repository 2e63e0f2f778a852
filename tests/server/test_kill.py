"""A server that is killed: nothing acknowledged is lost, doubled or reordered, every message is
committed once, and those who come back are told how it ended."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest

from headrace.events import RunClosed
from headrace.projections.registry import PROTOCOLS
from tests.server.nursery import Nursery, Victim, nursery
from tests.server.serving import frames
from tests.server.stored_records import stored_records

KILLS = int(os.environ.get("HEADRACE_SOAK_KILLS", "10"))
IS_SOAK = "HEADRACE_SOAK_KILLS" in os.environ
# Of the kills at random, those of a server that waits for the disk at every commit.
DURABLE_KILLS = KILLS * 25 // 141
USERS = ("anna", "ben")
# One user has more clients than this, so that some of them are refused at first.
LIMITS: dict[str, Any] = {
    "needs_token": True,
    "max_live_runs_per_user": 2,
    "asks_per_minute": 6_000,
    "max_connections": 64,
    "max_waiting_per_address": 16,
}
# What is asked for is 2 s; a machine that runs other tests beside this is given more.
ANNOUNCED_S = 30.0
BEFORE_THE_END = ["before_begin", "after_begin", "before_append", "after_append", "after_append:3"]
AT_THE_END = ["before_end", "after_end", "before_commit", "after_commit"]
# From the run's last record to its close, until there are no more.
STATEMENTS = [f"end_statement:{n}" for n in range(1, 60, 1 if IS_SOAK else 3)]
IN_RECOVERY = [f"statement:{n}" for n in range(1, 51, 1 if IS_SOAK else 6)]
_ENDS = {end for protocol in PROTOCOLS.values() for end in protocol.ends}


@pytest.fixture(scope="module")
def born() -> Iterator[Nursery]:
    with nursery() as found:
        yield found


class Client:
    """Asks once, whatever happens in between: the key makes it the same run."""

    def __init__(self, protocol: str = "ux", access_token: str = "") -> None:
        self.protocol = protocol
        self.seen = b""
        self.refusals = 0
        self._access_token = access_token
        self._key = uuid.uuid4().hex

    async def ask(self, url: str) -> None:
        """Until the end, or until the connection breaks."""
        self.seen = b""
        timeout = aiohttp.ClientTimeout(total=60)
        headers = {"idempotency-key": self._key}
        if self._access_token:
            headers["authorization"] = f"Bearer {self._access_token}"
        try:
            async with aiohttp.ClientSession(timeout=timeout, headers=headers) as http:
                while await self._ask_once(http, url) == 429:
                    self.refusals += 1
                    await asyncio.sleep(0.02)
        except aiohttp.ClientError:
            pass

    async def _ask_once(self, http: aiohttp.ClientSession, url: str) -> int:
        address = f"{url}/api/chat?protocol={self.protocol}"
        async with http.post(address, json={"message": "Go."}) as answer:
            # One that drains takes nothing new.
            assert answer.status in (200, 429, 503), await answer.text()
            async for chunk in answer.content.iter_any():
                self.seen += chunk if answer.status == 200 else b""
            return answer.status

    async def check(self, url: str) -> None:
        """After the restart: what was seen is what is there, and it has one end."""
        before, _, _ = self.seen.rpartition(b"\n\n")
        await self.ask(url)
        assert self.seen.startswith(before), "what was sent is not what is logged"
        self.check_end()

    def twin(self) -> Client:
        """Another that asks for the same run."""
        other = Client(self.protocol, self._access_token)
        other._key = self._key
        return other

    def check_end(self) -> None:
        told = [payload for _, payload in frames(self.seen)]
        assert sum(f'"type":"{end}"' in one for one in told for end in _ENDS) == 1
        ids = [
            tuple(map(int, number.partition("-")[0].split("."))) for number, _ in frames(self.seen)
        ]
        assert ids == sorted(set(ids))


def rows(data: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(data / "headrace.db")) as connection:
        return connection.execute(query).fetchall()


def check_tables(data: Path) -> None:
    assert rows(data, "SELECT * FROM runs WHERE state = 'live'") == []
    with closing(sqlite3.connect(data / "headrace.db", isolation_level=None)) as connection:
        logs = stored_records(connection)
    for log in logs.values():
        assert [record.seq for record in log] == list(range(1, len(log) + 1))
    answers = "SELECT run_id FROM messages WHERE role = 'assistant' ORDER BY run_id"
    assert rows(data, answers) == rows(data, "SELECT id FROM runs ORDER BY id")
    ends = [
        run_id for run_id, log in logs.items() for one in log if isinstance(one.event, RunClosed)
    ]
    assert [(run_id,) for run_id in ends] == rows(data, "SELECT id FROM runs ORDER BY id")
    assert rows(data, "PRAGMA integrity_check") == [("ok",)]


def contents(data: Path) -> list[Any]:
    tables = ("record_chunks", "conversations", "messages", "runs", "word_index", "title_index")
    return [rows(data, f"SELECT * FROM {table}") for table in tables]


@pytest.mark.parametrize("step", [*BEFORE_THE_END, *AT_THE_END])
def test_killed_between_two_steps_a_run_is_ended_once(
    step: str, born: Nursery, tmp_path: Path
) -> None:
    assert check_killed_at(step, born, tmp_path)


def test_killed_before_any_statement_of_its_end_a_run_is_ended_once(
    born: Nursery, tmp_path: Path, record_property: Any
) -> None:
    reached = takewhile(lambda step: check_killed_at(step, born, tmp_path / step), STATEMENTS)
    count = len(list(reached))
    assert 3 < count < len(STATEMENTS)
    record_property("summary", f"kill: before each of {count} statements at the end of a run")


def check_killed_at(step: str, born: Nursery, data: Path) -> bool:
    """Whether the step was reached: a run has only so many statements."""
    client = Client()
    victim = born.serve(data, step)
    asyncio.run(client.ask(victim.url))
    is_over = client.seen.endswith(b"\n\n") and b'"type":"message_final"' in client.seen
    victim.kill()
    victim = born.serve(data)
    asyncio.run(client.check(victim.url))
    check_tables(data)
    assert rows(data, "SELECT count(*) FROM messages") == [(2,)]
    check_reload(victim, client)
    victim.kill()
    return not is_over


def check_reload(victim: Victim, client: Client) -> None:
    """What a reload shows is what the stream has ended with."""
    (found,) = httpx.get(f"{victim.url}/api/conversations", timeout=60).json()["conversations"]
    whole = httpx.get(f"{victim.url}/api/conversations/{found['id']}", timeout=60).json()
    last = frames(client.seen)[-1][1]
    asked, answered = whole["messages"]
    assert answered["parent_id"] == asked["id"]
    assert answered["created_at"] >= asked["created_at"]
    assert httpx.Response(200, text=last).json()["event"] == answered["event"]
    assert whole["conversation"]["leaf_id"] == answered["id"]
    assert whole["live"] == []


def test_recovery_is_the_same_however_often_it_is_killed(
    born: Nursery, tmp_path: Path, record_property: Any
) -> None:
    """Killed before every few statements of a start, then left alone, then started again."""
    client = Client()
    victim = born.serve(tmp_path, "after_append:3")
    asyncio.run(client.ask(victim.url))
    victim.wait()
    died = sum(not born.serve(tmp_path, step).url for step in IN_RECOVERY)
    assert died > 3
    born.kill_all()
    before = time.monotonic()
    victim = born.serve(tmp_path)
    asyncio.run(client.check(victim.url))
    took = time.monotonic() - before
    assert '"category":"interrupted"' in frames(client.seen)[-1][1]
    assert took < ANNOUNCED_S
    victim.kill()
    check_tables(tmp_path)
    once = contents(tmp_path)
    born.serve(tmp_path).kill()
    assert contents(tmp_path) == once
    text = f"kill: {died} kills in recovery; interruption announced {took:.2f} s after the restart"
    record_property("summary", text)


@pytest.mark.timeout(120 + 10 * KILLS)
def test_killed_at_random_nothing_acknowledged_is_lost(
    born: Nursery, tmp_path: Path, record_property: Any
) -> None:
    chance = random.Random(9)
    slowest = 0.0
    frames_seen = 0
    clients: list[Client] = []
    tokens = [_create_token(born, tmp_path, user) for user in USERS]
    victim = born.serve(tmp_path, **LIMITS, is_durable=DURABLE_KILLS > 0)
    for number in range(1, KILLS + 1):
        protocols = chance.choices(list(PROTOCOLS), k=4)
        # Three of the first user, who may have two answers at once, and one of the other.
        asking = [Client(name, tokens[at // 3]) for at, name in enumerate(protocols)]
        watching = asking[0].twin()
        is_told = chance.random() < 0.25
        after_s = chance.random() * 0.35
        asyncio.run(_killed(victim, [*asking, watching], after_s, is_told=is_told))
        frames_seen += sum(client.seen.count(b"\n\n") for client in [*asking, watching])
        before = time.monotonic()
        victim = born.serve(tmp_path, **LIMITS, is_durable=number < DURABLE_KILLS)
        asyncio.run(_checked(victim, [*asking, watching]))
        slowest = max(slowest, time.monotonic() - before)
        assert asking[0].seen == watching.seen
        clients += asking
    assert slowest < ANNOUNCED_S
    assert sum(client.refusals for client in clients) > 0
    for client in clients:
        whole = client.seen
        asyncio.run(client.check(victim.url))
        assert client.seen == whole
    check_tables(tmp_path)
    assert rows(tmp_path, "SELECT count(*) FROM runs") == [(4 * KILLS,)]
    count = f"kill: {KILLS} at random ({DURABLE_KILLS} of a durable server), {4 * KILLS} runs"
    text = f"{count}, {frames_seen} frames seen before and found after a kill"
    record_property("summary", f"{text}, ended at most {slowest:.2f} s after the restart")


def _create_token(born: Nursery, data: Path, user: str) -> str:
    output = data / f"{user}.txt"
    born.create_token(data, user, output).wait()
    return output.read_text().strip()


async def _killed(
    victim: Victim, clients: list[Client], after_s: float, *, is_told: bool = False
) -> None:
    """Killed after so long, or while it drains."""
    asking = [asyncio.ensure_future(client.ask(victim.url)) for client in clients]
    await asyncio.sleep(after_s)
    if is_told:
        victim.stop()
        await asyncio.sleep(after_s / 10)
    victim.kill()
    await asyncio.gather(*asking)


def test_told_to_stop_every_watcher_gets_its_last_frame(born: Nursery, tmp_path: Path) -> None:
    victim = born.serve(tmp_path)
    clients = [Client(protocol) for protocol in PROTOCOLS for _ in range(4)]

    async def main() -> None:
        # The second of each asks with the key of the first: it watches the same run.
        watching = [client.twin() for client in clients]
        everybody = [*clients, *watching]
        asking = [asyncio.ensure_future(one.ask(victim.url)) for one in everybody]
        async with asyncio.timeout(60):
            while not all(one.seen for one in everybody):
                await asyncio.sleep(0.005)
        victim.stop()
        await asyncio.gather(*asking)
        for client, other in zip(clients, watching, strict=True):
            client.check_end()
            assert client.seen == other.seen

    asyncio.run(main())
    victim.wait()
    check_tables(tmp_path)


async def _checked(victim: Victim, clients: list[Client]) -> None:
    await asyncio.gather(*(client.check(victim.url) for client in clients))

"""One commit a message: the store is written once for each answer, at its end, and not before,
whichever way the run takes. The database itself counts, by triggers, and fails for real."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.events import Record, decode_record, encode_event
from headrace.projections.registry import PROTOCOLS
from headrace.rehearsal.script import call, cut, error, refuse, say, think, turn
from headrace.server.storage.sqlite.record_table import decode_batch
from headrace.tools import tool
from tests.server.nursery import nursery
from tests.server.serving import Served, frames, scripted, served
from tests.server.test_kill import Client

TABLES = {"messages": "NEW.role", "conversations": "NEW.id", "runs": "NEW.state"}
LAST = (
    "SELECT coalesce((SELECT hex(body) FROM record_batches ORDER BY id DESC LIMIT 1), '') || ' ' ||"
    " coalesce((SELECT hex(body) FROM record_chunks WHERE run_id = NEW.run_id"
    " ORDER BY first_seq DESC LIMIT 1), '')"
)
UNSAVED = '"message":"the message could not be saved"'
SLOW = turn(think("Hm."), say("one two three four five six seven eight"), pace_s=0.02)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def count(connection: sqlite3.Connection) -> None:
    """From here on, every write to the store is noted, with what the log has at that moment."""
    connection.execute("CREATE TABLE noted (what TEXT, last TEXT)")
    for table, what in TABLES.items():
        last = f"({LAST})" if table == "messages" else "''"
        for verb in ("INSERT", "UPDATE"):
            connection.execute(
                f"CREATE TRIGGER noted_{table}_{verb} AFTER {verb} ON {table} BEGIN"
                f" INSERT INTO noted VALUES ('{verb.lower()} {table} ' || {what}, {last}); END"
            )


async def noted(server: Served, what: str = "insert messages assistant") -> list[str]:
    rows = await server.service.database.read(
        lambda c: c.execute("SELECT last FROM noted WHERE what = ?", (what,)).fetchall()
    )
    return [last_event(row[0]) for row in rows]


def last_event(noted: str) -> str:
    """The type of the newest record in what was noted: a batch and a chunk."""
    batch, _, chunk = noted.partition(" ")
    bodies = bytes.fromhex(chunk).split(b"\n") if chunk else []
    if batch:
        bodies += [row[2] for row in decode_batch(bytes.fromhex(batch))]
    newest = max(map(decode_record, bodies), key=lambda record: record.seq, default=None)
    return json.loads(encode_event(newest.event))["type"] if newest else ""


async def execute(server: Served, statement: str) -> None:
    await server.service.database.write(lambda connection: connection.execute(statement))


async def total(server: Served) -> int:
    rows = await server.service.database.read(
        lambda c: c.execute("SELECT count(*) FROM noted").fetchone()
    )
    return int(rows[0])


def last_frame(data: bytes) -> str:
    return frames(data)[-1][1]


def play(agent: Any, data: Path, body: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    async def main() -> None:
        async with served(agent, data, **more) as server:
            await server.service.database.write(count)
            await body(server)

    asyncio.run(main())


PATHS: dict[str, tuple[list[Any], str]] = {
    "final": ([turn(think("Hm."), say("Hi."))], "message_final"),
    "empty": ([turn()], "message_final"),
    "tool loop": (
        [turn(call("add", a=1, b=2)), turn(call("add", a=3, b=4)), turn(say("7"))],
        "message_final",
    ),
    "refused": ([turn(refuse(503))], "message_error"),
    "error": ([turn(say("Hi, "), error())], "message_error"),
    "cut": ([turn(say("Hi, "), cut())], "message_error"),
}


@pytest.mark.parametrize("path", PATHS)
def test_every_way_to_an_end_writes_the_answer_once(path: str, tmp_path: Path) -> None:
    turns, end = PATHS[path]

    async def body(server: Served) -> None:
        for number in range(1, 4):
            _, _, data = await server.ask("Go.", protocol="ux")
            assert f'"type":"{end}"' in last_frame(data)
            assert len(await noted(server)) == number == server.service.store.message_writes
        assert set(await noted(server)) <= {"run_finished", "run_failed"}
        assert len(await noted(server, "update runs closed")) == 3

    play(scripted(*turns, tools=[add]), tmp_path, body)


def test_a_cancelled_answer_is_written_once(tmp_path: Path) -> None:
    async def body(server: Served) -> None:
        async with server.open("Go.", protocol="ux") as response:
            event_id = response.headers["x-event-id"]
            await response.content.readany()
            async with server.http.post(f"{server.url}/api/chat/{event_id}/cancel"):
                pass
            assert '"type":"message_cancelled"' in last_frame(await response.read())
        assert await noted(server) == ["run_finished"]

    play(scripted(SLOW), tmp_path, body)


def test_while_an_answer_grows_the_store_is_not_written(tmp_path: Path) -> None:
    async def body(server: Served) -> None:
        async with server.open("Go.", protocol="ux") as response:
            before = await total(server)
            counts = set()
            async for _ in response.content.iter_any():
                if server.service.runs.count:
                    counts.add(await total(server))
            assert counts <= {before, await total(server)}
            assert before in counts
        assert await noted(server) == ["run_finished"]

    play(scripted(SLOW), tmp_path, body)


@pytest.mark.parametrize("step", ["after_append:3", "after_end", "before_commit", "after_commit"])
def test_a_crash_and_its_recovery_write_the_answer_once(step: str, tmp_path: Path) -> None:
    client = Client()
    with nursery() as born:
        born.serve(tmp_path).kill()
        with closing(sqlite3.connect(tmp_path / "headrace.db")) as connection:
            count(connection)
            connection.commit()
        asyncio.run(client.ask(born.serve(tmp_path, step).url))
        born.kill_all()
        for _ in range(2):
            asyncio.run(client.check(born.serve(tmp_path).url))
            born.kill_all()
    with closing(sqlite3.connect(tmp_path / "headrace.db")) as connection:
        query = "SELECT count(*) FROM noted WHERE what = 'insert messages assistant'"
        assert connection.execute(query).fetchone() == (1,)


def test_an_answer_that_cannot_be_saved_says_so_and_is_saved_later_once(tmp_path: Path) -> None:
    async def body(server: Served) -> None:
        await execute(
            server,
            "CREATE TRIGGER broken BEFORE INSERT ON messages WHEN NEW.role = 'assistant'"
            " BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END",
        )
        event_id, conversation_id, data = await server.ask("Go.", protocol="ux")
        assert UNSAVED in last_frame(data)
        assert await noted(server) == []
        assert await server.service.repair() == 1
        assert await noted(server) == []
        await execute(server, "DROP TRIGGER broken")
        await check_mended(server, event_id, conversation_id, data)

    play(scripted(turn(think("Hm."), say("Hi."))), tmp_path, body)


def test_on_a_full_disk_a_run_ends_with_what_is_there_and_is_saved_later_once(
    tmp_path: Path,
) -> None:
    long = turn(say(" ".join("word" * 50 for _ in range(400)), deltas=400), pace_s=0.0005)

    async def body(server: Served) -> None:
        async with server.open("Go.", protocol="ux") as response:
            await response.content.readany()
            pages = await server.service.database.write(_pages)
            await execute(server, f"PRAGMA max_page_count = {pages + 4}")
            data = await response.read()
            event_id = response.headers["x-event-id"]
            conversation_id = response.headers["x-conversation-id"]
        assert UNSAVED in last_frame(data)
        assert await noted(server) == []
        for protocol in PROTOCOLS:
            async with server.resume(event_id, protocol=protocol) as response:
                assert "the message could not be saved" in await response.text()
        async with server.open("More. " * 10_000) as refused:
            assert refused.status == 503
            assert (await refused.json())["error"]["code"] == "storage"
        await execute(server, "PRAGMA max_page_count = 1000000")
        await check_mended(server, event_id, conversation_id, None)

    play(scripted(long), tmp_path, body)


def _pages(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_count").fetchone()[0])


async def check_mended(
    server: Served, event_id: str, conversation_id: str, data: bytes | None
) -> None:
    """The reload shows the answer, the stream stays as it was, the conversation goes on."""
    assert await server.service.repair() == 1
    assert await server.service.repair() == 0
    assert len(await noted(server)) == 1
    async with server.resume(event_id, protocol="ux") as response:
        again = await response.read()
    assert UNSAVED in last_frame(again)
    assert data is None or again == data
    _, found = await server.get(f"/api/conversations/{conversation_id}")
    assert [one["id"] for one in found["messages"]][1:] == [event_id]
    await server.ask("And now?", conversation_id=conversation_id, protocol="ux")
    assert len(await noted(server)) == 2


def test_a_run_that_begins_while_others_are_mended_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(server: Served) -> None:
        store = server.service.store
        look, opened = store.live_runs, server.open("Go.", protocol="ux")

        async def begun_meanwhile() -> Any:
            answers.append(await opened)
            return await look()

        answers: list[Any] = []
        monkeypatch.setattr(store, "live_runs", begun_meanwhile)
        assert await server.service.repair() == 0
        (response,) = answers
        assert '"type":"message_final"' in last_frame(await response.read())
        assert await noted(server) == ["run_finished"]

    play(scripted(SLOW), tmp_path, body)


def test_a_log_that_is_read_back_is_what_was_committed(tmp_path: Path) -> None:
    async def body(server: Served) -> None:
        event_id, _, _ = await server.ask("Go.", protocol="ux")
        row = await server.service.store.run("local", event_id)
        records: list[Record] = await server.service.log.read(row.id)
        assert [one.seq for one in records] == list(range(1, len(records) + 1))

    play(scripted(turn(say("Hi."))), tmp_path, body)

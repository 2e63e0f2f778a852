"""What the one writer does takes as long as what it is about, not as all that is stored."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.content import TextContent
from headrace.events import Record, RunClosed, RunFailed
from headrace.messages import Message, TextPart, Turn
from headrace.server.storage import migrations
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.migrations import MIGRATIONS, migrate
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import RunRow, RunStart, SQLiteStore, StoredMessage

FEW, MANY = 40, 160


class Place:
    """A store whose steps inside SQLite are counted: a clock would tell of the machine."""

    def __init__(self, data: Path) -> None:
        self.database = Database(data / "x.db")
        self.store = SQLiteStore(self.database)
        self.log = SQLiteLog(self.database)
        self.steps = 0
        self.database.write_now(self._count)
        asyncio.run(self.database.read(self._count))

    def _count(self, connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.steps += 1
        return 0

    async def answered(self, name: str) -> RunRow:
        """A conversation of one question and its answer."""
        run = (await self.store.begin(_start(name))).run
        part = TextPart(part=0, output=0, item=0, started_ms=2, text="A salmon leap.")
        message = Message(role="assistant", created_at_ms=2, turns=(Turn(parts=(part,)),))
        end = RunFailed(category="unknown", message="x")
        records = [Record(1, 2, end), Record(2, 2, RunClosed("committed", run.message_id))]
        await self.store.commit(run, message, records)
        return run

    async def expire(self) -> list[str]:
        old = await self.store.closed_runs(3)
        await self.log.delete(old)
        await self.store.mark_expired(old)
        return old


def _start(name: str) -> RunStart:
    asked = Message(role="user", content=(TextContent("What is a weir?"),), created_at_ms=1)
    conversation_id = f"conv_{name}"
    return RunStart(
        owner="anna",
        run_id=f"run_{name}",
        message_id=f"msg_{name}",
        model="test",
        now_ms=1,
        fingerprint=name,
        conversation_id=conversation_id,
        is_new=True,
        prompt=StoredMessage(
            id=f"ask_{name}", conversation_id=conversation_id, parent_id=None, message=asked
        ),
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    # One reader, which is then the one that counts.
    monkeypatch.setattr("headrace.server.storage.sqlite.database._READERS", 1)
    place = Place(tmp_path)
    yield place
    place.database.close()


@pytest.mark.parametrize("does", ["delete", "rename", "begin", "expire"])
def test_what_is_done_to_one_conversation_grows_with_no_other(place: Place, does: str) -> None:
    async def fill(first: int, last: int) -> None:
        for number in range(first, last):
            await place.answered(f"{number:03}")
        await place.expire()

    async def steps() -> int:
        run = await place.answered("one")
        before = place.steps
        if does == "delete":
            assert await place.store.delete("anna", run.conversation_id) == [run.id]
        elif does == "rename":
            await place.store.rename("anna", run.conversation_id, "Stairs")
        elif does == "expire":
            assert await place.expire() == [run.id]
        else:
            await place.store.begin(_start("two"))
        taken = place.steps - before
        for row in await place.store.live_runs():
            await place.store.commit(row, Message(role="assistant", created_at_ms=2), [])
        for conversation in await place.store.conversations("anna", 1000):
            if conversation.id in ("conv_one", "conv_two"):
                await place.store.delete("anna", conversation.id)
        return taken

    async def main() -> None:
        await fill(0, FEW)
        few = await steps()
        await fill(FEW, MANY)
        many = await steps()
        assert many < 1.5 * few, f"{few} steps among {FEW}, {many} among {MANY}"

    asyncio.run(main())


def test_a_file_from_before_the_words_were_numbered_is_searched_and_forgotten(
    tmp_path: Path,
) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as old:
        old.executescript(f"{MIGRATIONS[0]};{MIGRATIONS[1]}; PRAGMA user_version = 2")
        old.executescript(
            """
            INSERT INTO words VALUES ('of another', 'msg_none', 'conv_none', 'bert');
            INSERT INTO conversations VALUES ('conv', 'anna', 'A weir', 0, 1, 1, 'msg');
            INSERT INTO titles VALUES ('A weir', 'conv', 'anna');
            INSERT INTO messages VALUES ('ask', 'conv', 'anna', NULL, NULL, 'user', 1, '{}');
            INSERT INTO words VALUES ('salmon', 'ask', 'conv', 'anna');
            INSERT INTO messages VALUES ('msg', 'conv', 'anna', 'ask', 'run', 'assistant', 1, '{}');
            INSERT INTO words VALUES ('stairs', 'msg', 'conv', 'anna');
            INSERT INTO runs VALUES
                ('run', 'anna', 'conv', 'ask', 'msg', 'm', 'closed', 1, 1, NULL, 'f'),
                ('gone', 'anna', 'conv', 'ask', 'msg_gone', 'm', 'closed', 1, 1, NULL, 'f'),
                ('live', 'anna', 'conv', 'ask', 'msg_live', 'm', 'live', 1, NULL, NULL, 'f');
            INSERT INTO records VALUES (1, 'run', 1, '{}');
            """
        )
        old.row_factory = sqlite3.Row
    database = Database(tmp_path / "x.db")
    store = SQLiteStore(database)

    async def main() -> None:
        assert await store.closed_runs(2) == ["run"]
        for words in ("salmon", "stairs", "weir"):
            assert [one.conversation.id for one in await store.search("anna", words)] == ["conv"]
        await store.rename("anna", "conv", "A lock")
        assert await store.search("anna", "weir") == []
        assert [one.conversation.id for one in await store.search("anna", "lock")] == ["conv"]
        await database.write(lambda c: c.execute("DELETE FROM runs WHERE id = 'live'"))
        await store.delete("anna", "conv")
        left = await database.read(
            lambda c: [tuple(c.execute(f"SELECT count(*) FROM {t}").fetchone())
                       for t in ("word_index", "title_index", "messages", "runs", "record_chunks")]
        )  # fmt: skip
        assert left == [(1,), (0,), (0,), (0,), (0,)]

    try:
        database.write_now(migrate)  # a second time is nothing
        asyncio.run(main())
    finally:
        database.close()


def test_requests_that_were_stored_before_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:13])
        migrations.migrate(connection)
    connection.execute(
        "INSERT INTO conversations (id, owner, created_ms, updated_ms) VALUES ('c', 'anna', 1, 1)"
    )
    insert = (
        "INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model, created_ms,"
        " fingerprint, request) VALUES (?1, 'anna', 'c', 'm', ?1, 'x', 1, 'f', ?2)"
    )
    connection.execute(insert, ("old", '{"instructions": "é"}'))
    connection.execute(insert, ("bare", None))
    migrations.migrate(connection)
    connection.execute(insert, ("new", "1234"))
    stored = "SELECT owner, bytes FROM stored_bytes"
    assert connection.execute(stored).fetchall() == [("anna", 22 + 4)]
    connection.execute("DELETE FROM conversations")
    assert connection.execute(stored).fetchall() == [("anna", 0)]
    connection.close()

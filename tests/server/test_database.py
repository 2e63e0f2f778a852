"""The one file: what is told as done is in it, what is told as failed is not, and a disk that is
full takes nobody else's work with it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import events as ev
from headrace.events import Record
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.migrations import MIGRATIONS
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store import SQLiteStore

SMALL, HUGE = 100, 200_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """One whose disk is as good as full."""
    database = Database(tmp_path / "x.db")
    database.write_now(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)"))
    fill(database)
    yield database
    database.close()


def fill(database: Database, room: int = 8) -> None:
    """Leave room for so many pages."""
    pages = database.write_now(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    database.write_now(lambda c: c.execute(f"PRAGMA max_page_count = {pages + room}"))


def insert(number: int, size: int) -> Callable[[sqlite3.Connection], int]:
    def work(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO t VALUES (?, zeroblob(?))", (number, size))
        return number

    return work


def together(database: Database, works: list[Any]) -> list[Future[Any]]:
    """All of them in one group."""
    are_all_here = threading.Event()
    database.submit(lambda _: are_all_here.wait(5))
    futures = [database.submit(work) for work in works]
    are_all_here.set()
    return futures


def told(futures: list[Future[Any]]) -> list[Any]:
    """What was done; None for what failed."""
    failures = [future.exception(10) for future in futures]
    assert all(isinstance(one, StorageFailed) for one in failures if one is not None), failures
    return [None if future.exception() else future.result() for future in futures]


def kept(database: Database) -> list[int]:
    return asyncio.run(database.read(lambda c: [row[0] for row in c.execute("SELECT a FROM t")]))


@pytest.mark.parametrize(
    "sizes",
    [
        (SMALL, SMALL, HUGE, SMALL, SMALL),
        (HUGE, SMALL, SMALL),
        (SMALL, SMALL, HUGE),
        (SMALL, HUGE, SMALL, HUGE, SMALL),
        (HUGE,),
        (HUGE, HUGE),
    ],
)
def test_on_a_full_disk_what_failed_is_not_there_and_all_else_is(
    database: Database, sizes: tuple[int, ...]
) -> None:
    works = [insert(number, size) for number, size in enumerate(sizes)]
    done = told(together(database, works))
    assert done == [n if size == SMALL else None for n, size in enumerate(sizes)]
    assert kept(database) == [number for number in done if number is not None]
    assert database.write_now(insert(99, SMALL)) == 99


def test_what_fails_by_itself_takes_nothing_with_it(database: Database) -> None:
    done = told(together(database, [insert(1, SMALL), insert(1, SMALL), insert(2, SMALL)]))
    assert done == [1, None, 2]
    assert kept(database) == [1, 2]


def test_a_full_disk_costs_no_run_the_records_that_waited_beside_it(tmp_path: Path) -> None:
    async def main(database: Database) -> None:
        log = SQLiteLog(database)
        tails = [log.tail(name) for name in ("a", "b")]
        for seq in (1, 2, 3):
            told = await beside(database, tails, Record(seq, seq, ev.TextDelta(0, "x")))
            assert told == [None, None]
        for name in ("a", "b"):
            assert [record.seq for record in await log.read(name)] == [1, 2, 3]

    async def beside(database: Database, tails: list[Any], record: Record) -> list[Any]:
        """What each tail is told of a record that waits with a write that does not fit."""
        are_all_here, told = threading.Event(), asyncio.Queue[Exception | None]()
        database.submit(lambda _: are_all_here.wait(5))
        for tail in tails:
            tail.put([record], told.put_nowait)
        await asyncio.sleep(0.05)
        too_much = database.submit(insert(record.seq, HUGE))
        are_all_here.set()
        with pytest.raises(StorageFailed):
            await asyncio.wrap_future(too_much)
        return [await asyncio.wait_for(told.get(), 5) for _ in tails]

    database = Database(tmp_path / "x.db")
    SQLiteStore(database)  # makes the tables
    database.write_now(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)"))
    fill(database)
    try:
        asyncio.run(main(database))
    finally:
        database.close()


def test_titles_of_a_file_from_before_there_was_an_index_are_found(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as old, old:
        old.executescript(f"{MIGRATIONS[0]}; PRAGMA user_version = 1")
        old.execute("INSERT INTO conversations VALUES ('conv', 'anna', 'A weir', 0, 1, 1, NULL)")
    database = Database(tmp_path / "x.db")
    try:
        (found,) = asyncio.run(SQLiteStore(database).search("anna", "weir"))
        assert found.conversation.title == "A weir"
    finally:
        database.close()


def test_whoever_asks_a_closed_database_is_told_so(tmp_path: Path) -> None:
    database = Database(tmp_path / "x.db")
    database.close()
    with pytest.raises(StorageFailed, match="closed"):
        database.submit(insert(1, SMALL)).result(10)

    async def ask() -> None:
        with pytest.raises(StorageFailed, match="closed"):
            await asyncio.wait_for(database.write(insert(1, SMALL)), 10)
        with pytest.raises(StorageFailed, match="closed"):
            await asyncio.wait_for(database.read(insert(1, SMALL)), 10)

    asyncio.run(ask())


def test_connections_that_cannot_be_made_are_failures_of_the_storage_and_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.server.storage.sqlite.checkpointer.CHECKPOINT_S", 0.02)
    with closing(Database(tmp_path / "x.db")) as database:
        connect = sqlite3.connect
        refused = threading.Event()

        def refuse(*args: Any, **more: Any) -> sqlite3.Connection:
            refused.set()
            raise sqlite3.OperationalError("unable to open database file")

        monkeypatch.setattr(sqlite3, "connect", refuse)
        database.write_now(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)"))
        with pytest.raises(StorageFailed, match="unable to open"):
            asyncio.run(database.read(lambda c: c.execute("SELECT 1").fetchone()))
        assert refused.wait(10)
        monkeypatch.setattr(sqlite3, "connect", connect)
        assert asyncio.run(database.read(lambda c: c.execute("SELECT 1").fetchone()[0])) == 1
        # The tidier has got its connection too: what was committed reaches the file itself.
        for number in range(200):
            database.write_now(insert(number, SMALL))
            if b"CREATE TABLE t" in (tmp_path / "x.db").read_bytes():
                break
            threading.Event().wait(0.02)
        else:
            pytest.fail("nothing reaches the database file")

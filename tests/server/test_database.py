"""The one file: what is told as done is in it, what is told as failed is not, and a disk that is
full takes nobody else's work with it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from headrace import events as ev
from headrace.events import Record
from headrace.server.database import Database, StorageFailed
from headrace.server.log import SQLiteLog
from headrace.server.store import SQLiteStore

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


def test_a_full_disk_costs_no_run_its_records_but_the_one_that_filled_it(tmp_path: Path) -> None:
    """Records wait in the same group as the write that does not fit."""

    async def main() -> None:
        log, told = SQLiteLog(database), asyncio.Event()
        tails = {name: log.tail(name) for name in ("a", "b")}
        failures: list[Exception | None] = []

        def done(failure: Exception | None) -> None:
            failures.append(failure)
            if len(failures) % 2 == 0:
                told.set()

        for seq in range(1, 4):
            told.clear()
            are_all_here = threading.Event()
            database.submit(lambda _, waited=are_all_here: waited.wait(5))
            for tail in tails.values():
                tail.put([Record(seq, seq, ev.TextDelta(0, "x"))], done)
            await asyncio.sleep(0.05)
            too_much = database.submit(insert(seq, HUGE))
            are_all_here.set()
            with pytest.raises(StorageFailed):
                await asyncio.wrap_future(too_much)
            await asyncio.wait_for(told.wait(), 5)
        assert failures == [None] * 6
        for name in tails:
            assert [record.seq for record in await log.read(name)] == [1, 2, 3]

    database = Database(tmp_path / "x.db")
    SQLiteStore(database)  # makes the tables
    database.write_now(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)"))
    fill(database)
    try:
        asyncio.run(main())
    finally:
        database.close()

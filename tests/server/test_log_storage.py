"""How the log is stored: little is written per event, the WAL stays small, old files still open."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Record, encode_record
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.migrations import MIGRATIONS
from headrace.server.storage.sqlite import checkpointer, record_writer
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.record_table import read_batches
from headrace.server.storage.store import SQLiteStore
from tests.server.stored_records import stored_records


def records(first: int, last: int, text: str = "x") -> list[Record]:
    return [Record(seq, 1_000 + seq, ev.TextDelta(0, text)) for seq in range(first, last + 1)]


async def put(log: SQLiteLog, run_id: str, some: list[Record]) -> None:
    stored: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    log.tail(run_id).put(some, stored.set_result)
    assert await stored is None


def test_records_of_an_older_file_are_read_and_continued(tmp_path: Path) -> None:
    kept = {"a": records(1, 300, "old" * 20), "b": [*records(1, 2)], "c": records(1, 1)}
    kept["b"].append(Record(3, 9, ev.RunClosed("committed", "msg")))
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as old:
        old.executescript(
            ";".join(str(step) for step in MIGRATIONS[:3]) + "; PRAGMA user_version = 3"
        )
        for seq in range(300):  # in order of arrival, as they were written
            for run_id, log in kept.items():
                if seq < len(log):
                    row = (run_id, log[seq].seq, encode_record(log[seq]))
                    old.execute("INSERT INTO records (run_id, seq, body) VALUES (?, ?, ?)", row)

    async def main(log: SQLiteLog) -> None:
        for run_id, before in kept.items():
            assert await log.read(run_id) == before
        await log.append("a", records(301, 301))
        await log.append("c", records(2, 2))
        with pytest.raises(Exception, match="closed"):
            await log.append("b", records(4, 4))

    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(main(SQLiteLog(database)))
        tables = database.write_now(
            lambda c: {row[0] for row in c.execute("SELECT name FROM sqlite_master")}
        )
    assert "records" not in tables


def test_what_a_killed_server_has_left_in_batches_is_there_again(tmp_path: Path) -> None:
    """The copy is the file as a kill would leave it."""

    async def write(log: SQLiteLog) -> None:
        for seq in range(1, 40):
            await put(log, "a", records(seq, seq))
            await put(log, "b", records(seq, seq, "y" * 900))

    (tmp_path / "copy").mkdir()
    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(write(SQLiteLog(database)))
        for file in tmp_path.glob("x.db*"):
            (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    with closing(sqlite3.connect(tmp_path / "copy" / "x.db", isolation_level=None)) as copy:
        assert read_batches(copy).keys() == {"a", "b"}
        found = stored_records(copy)
    assert found == {"a": records(1, 39), "b": records(1, 39, "y" * 900)}

    async def read(log: SQLiteLog) -> None:
        assert await log.read("a") == records(1, 39)
        assert await log.read("b") == records(1, 39, "y" * 900)
        await put(log, "a", records(40, 40))
        assert await log.read("a", 38) == records(39, 40)

    with closing(Database(tmp_path / "copy" / "x.db")) as database:
        asyncio.run(read(SQLiteLog(database)))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(0, 6_000))))
def test_any_sizes_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, int, int]]
) -> None:
    kept: dict[str, list[Record]] = {"a": [], "b": [], "c": []}

    async def main(log: SQLiteLog) -> None:
        for run_id, count, size in writes:
            first = len(kept[run_id]) + 1
            some = records(first, first + count - 1, "x" * size)
            kept[run_id] += some
            await put(log, run_id, some)
        for run_id, log_of_run in kept.items():
            for after in range(len(log_of_run) + 1):
                assert await log.read(run_id, after) == log_of_run[after:]
                page = await log.read(run_id, after, 1_000)
                assert page == log_of_run[after : after + len(page)]
                assert page or after == len(log_of_run)

    path = tmp_path_factory.mktemp("log") / "x.db"
    with closing(Database(path)) as database:
        asyncio.run(main(SQLiteLog(database)))


def test_batches_do_not_pile_up_beside_a_run_that_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "MAX_BATCHES", 40)
    monkeypatch.setattr(record_writer, "_TRIM_EVERY", 10)

    async def main(log: SQLiteLog, database: Database) -> None:
        await put(log, "quiet", records(1, 1))
        for seq in range(1, 200):
            await put(log, "busy", records(seq, seq))
        count = "SELECT count(*) FROM record_batches"
        assert (await database.fetch(count))[0][0] <= 60
        assert await log.read("quiet") == records(1, 1)
        await put(log, "quiet", records(2, 2))
        assert await log.read("quiet") == records(1, 2)
        assert await log.read("busy") == records(1, 199)

    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(main(SQLiteLog(database), database))


def test_a_commit_for_many_runs_writes_few_pages(tmp_path: Path) -> None:
    """Each run had a page of an index for itself: 60 runs, 60 pages."""

    async def main(log: SQLiteLog, wal: Path) -> int:
        tails = [log.tail(f"run_{n:032}") for n in range(60)]
        loop = asyncio.get_running_loop()
        before = 0
        for seq in range(1, 6):
            before = wal.stat().st_size
            waiting: list[asyncio.Future[Exception | None]] = []
            for tail in tails:
                stored: asyncio.Future[Exception | None] = loop.create_future()
                tail.put(records(seq, seq), stored.set_result)
                waiting.append(stored)
            assert await asyncio.gather(*waiting) == [None] * 60
        return wal.stat().st_size - before

    with closing(Database(tmp_path / "x.db")) as database:
        grown = asyncio.run(main(SQLiteLog(database), tmp_path / "x.db-wal"))
    assert grown <= 8 * 4_120


def test_a_record_waits_for_others_as_long_as_others_are_coming(tmp_path: Path) -> None:
    """The longest wait stays far below the 20 ms that a frame may take."""
    waits: list[float] = []

    async def main(log: SQLiteLog) -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def note(delay: float, callback: Any, *arguments: Any) -> asyncio.TimerHandle:
            if getattr(callback, "__name__", "") == "_write_batch":
                waits.append(delay)
            return call_later(delay, callback, *arguments)

        loop.call_later = note  # type: ignore[method-assign, assignment]
        for seq, runs in enumerate((1, 1, 5, 30, 60, 1, 1), 1):
            stored = [loop.create_future() for _ in range(runs)]
            for number, future in enumerate(stored):
                log.tail(f"run_{seq}_{number}").put(records(1, 1), future.set_result)
            assert await asyncio.gather(*stored) == [None] * runs

    with closing(Database(tmp_path / "x.db")) as database:
        asyncio.run(main(SQLiteLog(database)))
    assert waits == [0.001, 0.001, 0.001, 0.004, 0.008, 0.003, 0.001]


@pytest.mark.parametrize("has_readers", [False, True])
def test_the_wal_stays_small_while_the_writer_never_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_readers: bool
) -> None:
    limit = 1_000_000
    monkeypatch.setattr(checkpointer, "WAL_RESTART_BYTES", limit)
    monkeypatch.setattr(checkpointer, "WAL_MAX_BYTES", 2 * limit)
    monkeypatch.setattr(checkpointer, "CHECKPOINT_S", 0.05)
    monkeypatch.setattr("headrace.server.storage.sqlite.connection.WAL_KEPT_BYTES", limit)
    written = largest = 0
    with closing(Database(tmp_path / "x.db")) as database:
        SQLiteStore(database)
        database.write_now(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)"))
        is_over = threading.Event()

        async def read() -> None:
            while not is_over.is_set():
                await asyncio.gather(*(database.fetch("SELECT count(*) FROM t") for _ in range(4)))

        readers = threading.Thread(target=lambda: asyncio.run(read()), daemon=True)
        if has_readers:
            readers.start()
        while written < 20 * limit:
            # Always one more in the queue: the writer never finds it empty.
            futures = [
                database.submit(lambda c: c.execute("REPLACE INTO t VALUES (1, zeroblob(20000))"))
                for _ in range(20)
            ]
            for future in futures[:-1]:
                future.result()
            written += 20_000
            largest = max(largest, (tmp_path / "x.db-wal").stat().st_size)
        is_over.set()
        if has_readers:
            readers.join()
    assert largest < 10 * limit


def test_the_wal_is_emptied_when_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointer, "CHECKPOINT_S", 0.05)
    monkeypatch.setattr(checkpointer, "_IDLE_S", 0.05)
    with closing(Database(tmp_path / "x.db")) as database:
        SQLiteStore(database)
        for _ in range(600):
            if not (tmp_path / "x.db-wal").stat().st_size:
                return
            threading.Event().wait(0.05)
    pytest.fail("the WAL is never truncated")

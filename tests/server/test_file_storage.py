"""The database file: older ones are rewritten so that they can shrink, and then they do."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.server.storage.migrations import MIGRATIONS
from headrace.server.storage.sqlite import checkpointer
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.database_file import enable_shrinking, prepare_file
from headrace.server.storage.store import SQLiteStore
from headrace.server.storage.upkeep.housekeeping import Housekeeping
from tests.server.test_search_storage import start


def make_old(path: Path) -> None:
    """A file as version 3 has left it, in WAL mode."""
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(f"{';'.join(map(str, MIGRATIONS[:3]))}; PRAGMA user_version = 3")
        old.execute("INSERT INTO tokens VALUES (x'00', 'anna', 'laptop', 1)")


def test_an_older_file_is_rewritten_once_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    make_old(path)
    enable_shrinking(path)
    inode = path.stat().st_ino
    enable_shrinking(path)
    assert path.stat().st_ino == inode
    with closing(Database(path)) as database:
        SQLiteStore(database)
        mode = database.write_now(lambda c: c.execute("PRAGMA auto_vacuum").fetchone()[0])
        rows = database.write_now(lambda c: c.execute("SELECT owner FROM tokens").fetchall())
    assert mode == 2
    assert [row[0] for row in rows] == ["anna"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.db"]


def test_the_file_shrinks_after_a_large_conversation_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    writes = 0

    async def main(database: Database) -> tuple[int, int]:
        store, housekeeping = SQLiteStore(database), Housekeeping(database)
        await store.begin(start("kept", "a small one"))
        begun = await store.begin(start("large", "word " * 1_000_000))
        await store.commit(begun.run, start("x", "y" * 4_000_000).prompt.message, [])  # type: ignore[union-attr]
        assert database.truncate_wal()
        before = path.stat().st_size
        await store.delete("anna", "conv_large")
        write = database.write

        async def count(*args: Any) -> Any:
            nonlocal writes
            writes += 1
            return await write(*args)

        monkeypatch.setattr(database, "write", count)
        assert await housekeeping.run()
        assert not await housekeeping.run()
        assert [one.id for one in await store.conversations("anna")] == ["conv_kept"]
        assert path.with_name("x.db-wal").stat().st_size < checkpointer.WAL_RESTART_BYTES
        return before, path.stat().st_size

    with closing(Database(path)) as database:
        before, after = asyncio.run(main(database))
    assert before > 8_000_000
    assert after < 2_000_000
    # Each write frees many of the 8,000 pages, or it would take minutes.
    assert writes < 100


def test_a_file_that_many_create_at_once_is_created_whole(tmp_path: Path) -> None:
    for attempt in range(40):
        path = tmp_path / str(attempt) / "headrace.db"
        path.parent.mkdir()
        start = threading.Barrier(8)

        def create(path: Path = path, start: threading.Barrier = start) -> None:
            start.wait()
            prepare_file(path)

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(create) for _ in range(8)]:
                done.result()
        assert [file.name for file in path.parent.iterdir()] == ["headrace.db"]

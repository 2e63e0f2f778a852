"""How much the log of a single stream writes to the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headrace.events import Record, TextDelta
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.database_file import enable_shrinking
from headrace.server.storage.store import SQLiteStore

EVENTS = 400
MAX_BYTES_PER_EVENT = 3_000
IO = Path("/proc/self/io")


def written_bytes() -> int:
    """Bytes that this process has passed to write calls so far."""
    fields = dict(line.split(": ") for line in IO.read_text().splitlines())
    return int(fields["wchar"])


@pytest.mark.skipif(not IO.exists(), reason="counts the bytes of write calls")
def test_a_single_stream_writes_at_most_3_kb_per_event(tmp_path: Path) -> None:
    async def main() -> float:
        with closing(Database(tmp_path / "headrace.db")) as database:
            SQLiteStore(database)
            tail = SQLiteLog(database).tail("run_0")
            before = written_bytes()
            for seq in range(1, EVENTS + 1):
                stored = asyncio.get_running_loop().create_future()
                tail.put([Record(seq, 1_763_200_000_000, TextDelta(0, " word"))], stored.set_result)
                assert await stored is None
        # Closing has moved everything into the database file.
        return (written_bytes() - before) / EVENTS

    assert asyncio.run(main()) < MAX_BYTES_PER_EVENT


def test_a_rewritten_file_has_the_page_size_of_a_new_one(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "new.db")) as database:
        SQLiteStore(database)
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM INTO ?", (str(old),))
    assert read_page_size(old) == 4096
    enable_shrinking(old)
    assert read_page_size(old) == page_size


def read_page_size(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA page_size").fetchone()[0])

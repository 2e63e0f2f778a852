"""How long a server takes to start: after a kill that has left a large WAL, and with much data."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.sqlite.connection import WRITER_CACHE_KB, connect
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.record_table import CHUNK_BYTES, insert_chunks
from headrace.server.storage.store import SQLiteStore

WAL_BYTES = 64 * 1024 * 1024
"""The largest WAL that is allowed."""
_CHUNKS_PER_COMMIT = 20
_ROUNDS = 5
_FILLED_BYTES = 2**30
_FILLED_ROW_BYTES = 65_536


@dataclass
class Restart:
    """The figures of several starts."""

    wal_bytes: int
    starts_s: list[float]
    """From the start of the command until the server takes requests, for each start."""
    empty_s: float
    """Median of the same with an empty folder."""

    @property
    def seconds(self) -> float:
        """Median of the starts."""
        return statistics.median(self.starts_s)


def restart(tell: Callable[[str], None], *, is_quick: bool) -> Restart:
    """Start a server in a folder as a kill would leave it."""
    tell("restart: a server with a large WAL")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "killed").mkdir()
        wal_bytes = _leave_wal(folder, WAL_BYTES // (8 if is_quick else 1))
        starts: list[float] = []
        empty: list[float] = []
        for number in range(1 if is_quick else _ROUNDS):
            # A start consumes the WAL, so each has a copy.
            copy = folder / f"killed{number}"
            shutil.copytree(folder / "killed", copy)
            starts.append(_start_s(copy))
            shutil.rmtree(copy)
            empty.append(_start_s(folder / f"empty{number}"))
        return Restart(wal_bytes, starts, statistics.median(empty))


def _leave_wal(folder: Path, size: int) -> int:
    """Write until the WAL has this size, and copy the files while they are open."""
    path = folder / "headrace.db"
    with closing(Database(path)) as database:
        SQLiteStore(database)
    wal = folder / "headrace.db-wal"
    bodies = [b'{"seq":1,"at_ms":1,"event":{"type":"text_delta","text":"weir"}}'] * (
        CHUNK_BYTES // 64
    )
    with closing(connect(path, WRITER_CACHE_KB)) as connection:
        count = 0
        while not wal.exists() or wal.stat().st_size < size:
            connection.execute("BEGIN IMMEDIATE")
            for _ in range(_CHUNKS_PER_COMMIT):
                insert_chunks(connection, f"run_{count}", 1, bodies)
                count += 1
            connection.execute("COMMIT")
        for file in (path, wal):
            shutil.copy(file, folder / "killed")
        # What a server that was killed has left there: the next one checks all pages.
        (folder / "killed" / "server.lock").write_text('{"pid": 1}')
        return wal.stat().st_size


def start_filled(tell: Callable[[str], None], *, is_quick: bool) -> float:
    """Return the median of starts with a data folder of 1 GB that was closed regularly."""
    size = _FILLED_BYTES // (50 if is_quick else 1)
    tell(f"start: writing {size / 2**30:.2f} GB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(Database(folder / "headrace.db")) as database:
            SQLiteStore(database)
            # The tables of the log come with its writer.
            SQLiteLog(database)
        body = b'{"seq":1,"at_ms":1,"event":{"type":"text_delta","text":"%b"}}' % (
            b"w" * _FILLED_ROW_BYTES
        )
        with closing(connect(folder / "headrace.db", WRITER_CACHE_KB)) as connection:
            for start in range(0, size // _FILLED_ROW_BYTES, 256):
                connection.execute("BEGIN IMMEDIATE")
                for number in range(start, start + 256):
                    insert_chunks(connection, f"run_{number}", 1, [body])
                connection.execute("COMMIT")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return statistics.median(_start_s(folder) for _ in range(1 if is_quick else 3))


def _start_s(data: Path) -> float:
    command = [sys.executable, "-m", "headrace", "serve", "--port", "0", "--data", str(data)]
    start_s = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.monotonic() - start_s
        process.terminate()
    if "serves" not in line:
        raise RuntimeError(f"the server does not start: {line}")
    return seconds


if __name__ == "__main__":
    print(restart(print, is_quick=False))

"""Read-only access to the database of a data folder, for commands that inspect it.

A server that uses the folder at the same time is not disturbed.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from headrace.errors import InputError
from headrace.server.storage.data_folder import DATABASE
from headrace.server.storage.migrations import MIGRATIONS

SCHEMA_VERSION = len(MIGRATIONS)
"""The version of the tables that this release of Headrace uses."""
_BUSY_S = 5.0


@contextmanager
def open_read_only(folder: Path) -> Generator[sqlite3.Connection]:
    """Open the database of a folder for reading.

    Close it soon: while it is being read, the server cannot shrink its file. Raises `InputError`
    if there is no database or it cannot be read.
    """
    path = folder / DATABASE
    if not path.is_file():
        problem = f"it has no {DATABASE}" if folder.is_dir() else "the folder does not exist"
        raise InputError(
            f"no conversations in {folder}: {problem}. Choose another folder with --data"
        )
    try:
        with closing(_connect(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(f"cannot read {path}: {error}") from None


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables; compare it with `SCHEMA_VERSION`."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def journal_mode(connection: sqlite3.Connection) -> str:
    """Return SQLite's journal mode in capital letters; a server sets WAL."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    return str(mode).upper()


def check_integrity(connection: sqlite3.Connection, timeout_s: float) -> str | None:
    """Check every page of the file. Return "ok", the first problems, or None after the timeout."""
    until_s = time.monotonic() + timeout_s
    connection.set_progress_handler(lambda: int(time.monotonic() > until_s), 100_000)
    try:
        rows = connection.execute("PRAGMA quick_check(3)").fetchall()
    except sqlite3.OperationalError as error:
        if "interrupt" not in str(error):
            raise
        return None
    finally:
        connection.set_progress_handler(None, 0)
    return " ".join("; ".join(str(row[0]) for row in rows).split())


def count_live_runs(connection: sqlite3.Connection) -> int:
    """Return the number of runs that have not been closed."""
    (count,) = connection.execute("SELECT count(*) FROM runs WHERE state = 'live'").fetchone()
    return int(count)


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return _connect_with(path, "mode=ro")
    except sqlite3.OperationalError:
        # In a folder that we may not write to, SQLite cannot create its index of the WAL. Without
        # a WAL, the file alone is complete.
        if path.with_name(path.name + "-wal").exists():
            raise
        return _connect_with(path, "mode=ro&immutable=1")


def _connect_with(path: Path, options: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?{options}"
    connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        # SQLite opens the file with the first query.
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection

"""The database of a data folder, to look at and never to change: a server that holds the folder
is not disturbed, and sees nothing of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from headrace.errors import InputError

DATABASE = "headrace.db"
_BUSY_S = 5.0


@contextmanager
def read_only(folder: Path) -> Generator[sqlite3.Connection]:
    """The tables of a folder. Leave soon: as long as it is read, the server's file cannot
    shrink. Raises `InputError` where there are none that can be read."""
    path = folder / DATABASE
    if not path.is_file():
        raise InputError(f"no conversations in {folder}: {_why(folder)}")
    try:
        with closing(_connected(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def _why(folder: Path) -> str:
    if folder.is_dir():
        return f"it has no {DATABASE}; name another folder with --data"
    return "there is no such folder; name another with --data"


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return _opened(path, "mode=ro")
    except sqlite3.OperationalError:
        # In a folder that we may not write to, SQLite cannot make its index of the newest
        # commits; where there are none, the file alone is all.
        if path.with_name(path.name + "-wal").exists():
            raise
        return _opened(path, "mode=ro&immutable=1")


def _opened(path: Path, options: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?{options}"
    connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        # The first look is what opens the file.
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection

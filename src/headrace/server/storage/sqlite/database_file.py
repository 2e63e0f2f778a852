"""The database file before it is opened: created whole, and refused if it is not one of ours."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from headrace.errors import UsageError
from headrace.log import get_logger

APPLICATION_ID: Final = 0x48524143
"""Marks a SQLite file as one of Headrace."""
PAGE_BYTES: Final = 1_024
"""Size of a page. A commit writes whole pages. That of a single stream has about 150 bytes: with
SQLite's default of 4,096 bytes it would write three times as much."""
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_ADVICE = "restore it from a copy, or move it away and start again"
_logger = get_logger("server")


def prepare_file(path: Path) -> None:
    """Create the file if there is none, and make it readable for its owner only.

    Raises `UsageError` with one line if the file is empty, is not a database, belongs to another
    program or cannot be written.
    """
    try:
        if not path.exists():
            _create(path)
        for file in _files_of(path):
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
        with path.open("r+b") as opened:
            header = opened.read(_HEADER_BYTES)
    except OSError as error:
        raise UsageError(f"cannot use {path}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise UsageError(f"cannot create {path}: {error}") from None
    _check_header(path, header)


def _create(path: Path) -> None:
    """Create the file under another name and link it: a kill leaves no empty file behind. The name
    is this call's own, because two processes may create the database at the same moment."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            # Before the first page is written.
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            # Lets the file shrink.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        with suppress(FileExistsError):  # another process was faster
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)


def _files_of(path: Path) -> Iterator[Path]:
    for name in (path.name, path.name + "-wal", path.name + "-shm"):
        if (file := path.with_name(name)).exists():
            yield file


def _check_header(path: Path, header: bytes) -> None:
    if not header:
        raise UsageError(f"{path} is empty, so its data is lost: {_ADVICE}")
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise UsageError(f"{path} is not a database of Headrace: {_ADVICE}")
    # https://www.sqlite.org/fileformat.html#the_database_header
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        _check_tables(path)


def _check_tables(path: Path) -> None:
    """Accept a file of an earlier version, which has no application id."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        raise UsageError(f"{path} cannot be read: {error}. {_ADVICE.capitalize()}") from None
    names = {row[0] for row in rows}
    if not {"conversations", "runs", "tokens"} <= names:
        raise UsageError(f"{path} belongs to another program: choose another folder with --data")


def enable_shrinking(path: Path) -> None:
    """Rewrite a file of an earlier version, whose free pages could not be removed.

    Only for the process that has locked the folder, and before the file is opened. If it does not
    work, for lack of disk space for example, the file stays as it is. Raises `UsageError` as
    `prepare_file()` does.
    """
    prepare_file(path)
    new = path.with_name(path.name + ".new")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
            if mode:
                return
            new.unlink(missing_ok=True)
            os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM INTO ?", (str(new),))
            # Nothing may be left in the WAL, which belongs to the old file.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if any(file != path for file in _files_of(path)):
            return
        new.replace(path)
    except (OSError, sqlite3.OperationalError) as error:
        _logger.warning("the database cannot be rewritten, so its file will not shrink: %s", error)
    except sqlite3.DatabaseError:
        pass  # a damaged file, which is refused when it is opened
    finally:
        new.unlink(missing_ok=True)

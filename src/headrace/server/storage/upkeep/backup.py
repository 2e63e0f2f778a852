"""Copies of a data folder: taken while its server runs, checked, and put into an empty folder."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.data_folder import DATABASE, LOCK, DataFolder
from headrace.server.storage.inspection import open_read_only
from headrace.server.storage.sqlite.database_file import APPLICATION_ID

FILES: Final = "files"
"""Folder of the uploads that were not sent yet."""


class Copied(msgspec.Struct, frozen=True):
    """What a copy has."""

    conversations: int
    messages: int
    size: int
    """Bytes of the database."""


def back_up(data: Path, target: Path) -> Copied:
    """Copy the data folder `data` into the new folder `target`. A server may be using it.

    The copy is the database as it was at one moment. It is checked before the folder appears under
    its name. Raises `UsageError`, or `InputError` if there is no database.
    """
    with _new_folder(target) as folder:
        _copy_database(data, folder / DATABASE)
        copied = check_copy(folder)
        _copy_files(data / FILES, folder / FILES)
    return copied


def restore(source: Path, data: Path) -> Copied:
    """Put a copy into the data folder `data`, which must not have a database. Raises
    `UsageError`."""
    copied = check_copy(source)
    folder = DataFolder(data)
    try:
        if folder.database.exists():
            raise UsageError(
                f"{data} has a database already: choose another folder with --data, or move it away"
            )
        new = folder.path / f"{DATABASE}.new"
        _copy_file(source / DATABASE, new)
        _copy_files(source / FILES, folder.path / FILES)
        new.rename(folder.database)
    except OSError as error:
        raise UsageError(f"cannot restore into {data}: {error.strerror}") from None
    finally:
        folder.close()
    return copied


def check_copy(folder: Path) -> Copied:
    """Read the whole database of a copy, and count what is in it. Raises `UsageError` if it is
    damaged or not a database of Headrace."""
    path = folder / DATABASE
    if not path.is_file():
        raise UsageError(f"there is no copy at {folder}: {DATABASE} is missing")
    try:
        # Nothing is written, so nothing appears beside the file.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as copy:
            (application,) = copy.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise UsageError(f"{path} is not a database of Headrace")
            (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise UsageError(f"{path} is damaged: {found}")
            (conversations,) = copy.execute("SELECT count(*) FROM conversations").fetchone()
            (messages,) = copy.execute("SELECT count(*) FROM messages").fetchone()
    except sqlite3.Error as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return Copied(conversations, messages, path.stat().st_size)


@contextmanager
def _new_folder(target: Path) -> Generator[Path]:
    """Create a folder beside its name, and give it its name at the end: a copy that was
    interrupted is never taken for a whole one."""
    if target.exists():
        raise UsageError(f"{target} is there already: each copy is a new folder")
    folder = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        folder.mkdir(parents=True, mode=0o700)
        try:
            yield folder
            _sync(folder)
            folder.rename(target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}") from None


def _copy_database(data: Path, target: Path) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with open_read_only(data) as connection:
        # One read transaction: writers go on, and the copy does not see them.
        connection.execute("VACUUM INTO ?", (str(target),))


def _copy_files(source: Path, target: Path) -> None:
    """Copy the uploads. Those that expire meanwhile are left out."""
    if not source.is_dir():
        return
    for folder, _, names in os.walk(source):
        place = target / Path(folder).relative_to(source)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            if name == LOCK:
                continue
            try:
                _copy_file(Path(folder) / name, place / name)
            except FileNotFoundError:
                continue


def _copy_file(source: Path, target: Path) -> None:
    with (
        source.open("rb") as read,
        open(os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as written,
    ):
        shutil.copyfileobj(read, written)
        written.flush()
        os.fsync(written.fileno())


def _sync(folder: Path) -> None:
    """Wait until the database and its name are on the disk."""
    for path in (folder / DATABASE, folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

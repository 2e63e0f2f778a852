"""Checks the data folder: permissions, space, lock and database.

It only reads, so a running server is not disturbed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from headrace.cli.commands.doctor.finding import Finding
from headrace.cli.commands.doctor.port import answers_health
from headrace.errors import InputError
from headrace.server.storage import inspection
from headrace.server.storage.data_folder import DATABASE, Holder, find_holder

_LITTLE_BYTES, _TOO_LITTLE_BYTES = 1_000_000_000, 50_000_000
_CHECK_S = 20.0


def data_findings(folder: Path) -> Iterator[Finding]:
    """Yield all findings about a data folder."""
    yield _folder(folder)
    yield _space(folder)
    if not folder.is_dir():
        return
    held = find_holder(folder)
    if held is not None:
        yield _server(held)
    if (folder / DATABASE).is_file():
        yield from _database(folder, is_held=held is not None)


def _folder(folder: Path) -> Finding:
    if folder.exists() and not folder.is_dir():
        return Finding(
            "data", "error", f"{folder} is not a folder", "choose another folder with --data"
        )
    if not folder.exists():
        message = f"{folder} does not exist yet; `headrace serve` or `headrace chat` creates it"
        parent = next(path for path in folder.absolute().parents if path.exists())
        if not _may_write(parent):
            fix = f"{parent} cannot be written to: choose another folder with --data"
            return Finding("data", "error", message, fix)
        return Finding("data", "note", message)
    if not _may_write(folder):
        user = os.environ.get("USER") or str(os.getuid())
        fix = f"make it yours: chown -R {user} {folder}, or choose another folder with --data"
        return Finding("data", "error", f"{folder} cannot be written to", fix)
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        message = f"{folder} can be read by other users of this machine"
        return Finding("data", "warning", message, f"chmod 700 {folder}")
    return Finding("data", "ok", str(folder))


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK | os.X_OK)


def _space(folder: Path) -> Finding:
    free = free_bytes(folder)
    if free is None:
        return Finding("space", "warning", "the free space is unknown")
    message = f"{_size_words(free)} free"
    if free < _TOO_LITTLE_BYTES:
        return Finding("space", "error", message, "free some disk space: answers cannot be stored")
    if free < _LITTLE_BYTES:
        return Finding("space", "warning", message, "free some disk space soon")
    return Finding("space", "ok", message)


def free_bytes(path: Path) -> int | None:
    """Return the free space at a path that may not exist yet."""
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def _size_words(size: int) -> str:
    for unit, number in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= number:
            return f"{size / number:,.1f} {unit}"
    return f"{size} bytes"


def _server(held: Holder) -> Finding:
    who = f"process {held.pid}" if held.pid else "an unknown process"
    if not held.address:
        # A chat locks the folder without listening on a port.
        return Finding("server", "note", f"{who} has locked the folder, and serves no address")
    message = f"{who} serves the folder at {held.address}"
    match answers_health(held.address):
        case True:
            return Finding("server", "ok", f"{message} and answers")
        case False:
            fix = f"look at its output; if it hangs, stop it: kill {held.pid}"
            return Finding("server", "error", f"{message} and does not answer", fix)
        case None:
            return Finding("server", "note", f"{message}: another machine, not checked")


# --- the database --------------------------------------------------------------------


def _database(folder: Path, *, is_held: bool) -> Iterator[Finding]:
    try:
        with inspection.open_read_only(folder) as connection:
            yield _schema(connection, folder)
            yield _whole(connection, folder)
            yield from _open_runs(connection, is_held=is_held)
    except InputError as problem:
        yield Finding("database", "error", str(problem), _RESTORE.format(folder))


_RESTORE = "restore {0} from a copy, or move it away and start again"


def _schema(connection: sqlite3.Connection, folder: Path) -> Finding:
    version = inspection.schema_version(connection)
    size = _size_words((folder / DATABASE).stat().st_size)
    message = f"{size} · version {version} · {inspection.journal_mode(connection)}"
    if version > inspection.SCHEMA_VERSION:
        fix = f"this Headrace knows version {inspection.SCHEMA_VERSION}: update it"
        return Finding("database", "error", message, fix)
    if version < inspection.SCHEMA_VERSION:
        return Finding("database", "note", message, "the next `headrace serve` updates it")
    return Finding("database", "ok", message)


def _whole(connection: sqlite3.Connection, folder: Path) -> Finding:
    result = inspection.check_integrity(connection, _CHECK_S)
    if result is None:
        message = f"too large to be checked in {_CHECK_S:.0f} s"
        return Finding(
            "integrity", "note", message, f"sqlite3 {folder / DATABASE} 'PRAGMA quick_check'"
        )
    if result == "ok":
        return Finding("integrity", "ok", "every page was checked")
    return Finding("integrity", "error", result, _RESTORE.format(folder / DATABASE))


def _open_runs(connection: sqlite3.Connection, *, is_held: bool) -> Iterator[Finding]:
    live = inspection.count_live_runs(connection)
    if not live:
        return
    what = f"{live} answer{'s' * (live != 1)}"
    if is_held:
        yield Finding("answers", "note", f"{what} being written")
    else:
        message = f"{what} broke off when a server was killed"
        yield Finding(
            "answers", "note", message, "the next `headrace serve` stores what had arrived"
        )

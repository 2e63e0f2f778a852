"""Finds a stored run in a data folder, with its records and messages."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from headrace.errors import InputError
from headrace.events import Record, decode_record
from headrace.messages import Message
from headrace.server.storage.inspection import SCHEMA_VERSION, open_read_only, schema_version
from headrace.server.storage.sqlite.record_table import read_all
from headrace.server.storage.store.row import decode_message, read_branch

NEWEST = "last"
"""The name that stands for the newest run."""
_MIN_ID_CHARS = 8
_ID_PREFIXES = ("run_", "msg_")


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One stored run."""

    id: str
    message_id: str
    model: str
    created_ms: int
    is_live: bool
    records: list[Record]
    """Empty if they have expired."""
    message: Message | None
    """The answer, or None while it is being written."""
    earlier: list[Message]
    """The messages before the answer; the last one is the question."""

    @property
    def question(self) -> str:
        """Text of the question."""
        return self.earlier[-1].text if self.earlier else ""


def looks_like_run(name: str) -> bool:
    """Return whether a name is `last` or has the form of a run id or message id."""
    return name == NEWEST or name.startswith(_ID_PREFIXES)


def check_id_length(name: str) -> None:
    """Raise `InputError` if the beginning of an id is too short to name a run."""
    if len(name) < _MIN_ID_CHARS:
        raise InputError(f"the id is too short: give at least {_MIN_ID_CHARS} characters")


def find_run(folder: Path, name: str) -> StoredRun:
    """Find a run by its id, its message's id, the beginning of either, or `last`.

    Raises `InputError` if no run matches, or several do.
    """
    with open_read_only(folder) as connection:
        _check_version(connection)
        row = _find_row(connection, folder, name)
        bodies = read_all(connection, row["id"])
        branch = read_branch(connection, row["parent_id"])
        answer = connection.execute(
            "SELECT body FROM messages WHERE id = ?", (row["message_id"],)
        ).fetchone()
    try:
        return StoredRun(
            id=row["id"],
            message_id=row["message_id"],
            model=row["model"],
            created_ms=row["created_ms"],
            is_live=row["state"] == "live",
            records=[decode_record(body) for body in bodies],
            message=None if answer is None else decode_message(answer[0]),
            earlier=[decode_message(message["body"]) for message in branch],
        )
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot decode the stored run: {error}") from None


def _check_version(connection: sqlite3.Connection) -> None:
    version = schema_version(connection)
    if version != SCHEMA_VERSION:
        is_newer = version > SCHEMA_VERSION
        advice = "update Headrace" if is_newer else "start headrace serve on the folder once"
        raise InputError(
            f"the data has version {version}, but this Headrace reads version"
            f" {SCHEMA_VERSION}: {advice}"
        )


def _find_row(connection: sqlite3.Connection, folder: Path, name: str) -> sqlite3.Row:
    if name == NEWEST:
        query = connection.execute(
            "SELECT * FROM runs ORDER BY created_ms DESC, rowid DESC LIMIT 1"
        )
    else:
        check_id_length(name)
        query = connection.execute(
            "SELECT * FROM runs WHERE substr(id, 1, :length) = :name"
            " OR substr(message_id, 1, :length) = :name LIMIT 2",
            {"length": len(name), "name": name},
        )
    rows: list[sqlite3.Row] = query.fetchall()
    if len(rows) > 1:
        raise InputError("several runs have an id that begins like this: give more of it")
    if not rows:
        raise InputError(f"no such run in {folder}: {_list_newest(connection)}")
    return rows[0]


def _list_newest(connection: sqlite3.Connection) -> str:
    rows = connection.execute("SELECT id FROM runs ORDER BY created_ms DESC, rowid DESC LIMIT 3")
    ids = [str(row["id"]) for row in rows]
    return f"the newest are {', '.join(ids)}" if ids else "it has none"

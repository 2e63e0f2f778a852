"""Runs that a data folder keeps: found by their id, with their records and their message."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from headrace.content import TextContent
from headrace.errors import InputError
from headrace.events import Record, decode_record
from headrace.messages import Message
from headrace.server.storage.data_file import read_only

NEWEST = "last"
"""The word for the newest run."""
_MIN_ID_CHARS = 8
_MAX_BRANCH = 10_000
_IDS = ("run_", "msg_")


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run as it is kept."""

    id: str
    message_id: str
    model: str
    created_ms: int
    is_live: bool
    records: list[Record]
    """None of them where they are too old to be kept."""
    message: Message | None
    """The answer; None while it is being written."""
    earlier: list[Message]
    """What was said before: the question is the last of it."""

    @property
    def question(self) -> str:
        """What was asked."""
        asked = self.earlier[-1] if self.earlier else None
        found = () if asked is None else asked.content
        return "\n".join(part.text for part in found if isinstance(part, TextContent))


def looks_like_run(name: str) -> bool:
    """Whether a name is meant as that of a run."""
    return name == NEWEST or name.startswith(_IDS)


def find_run(folder: Path, name: str) -> StoredRun:
    """The run of this id, or of a message of this id, or of one that begins so; `last` is
    the newest. Raises `InputError` where there is none, or more than one."""
    with read_only(folder) as connection:
        _check_version(connection)
        row = _row(connection, folder, name)
        bodies = connection.execute(
            "SELECT body FROM records WHERE run_id = ? ORDER BY seq", (row["id"],)
        ).fetchall()
        branch = _branch(connection, row["parent_id"])
        answer = connection.execute(
            "SELECT body FROM messages WHERE id = ?", (row["message_id"],)
        ).fetchone()
    try:
        return _stored(row, [body[0] for body in bodies], branch, answer and answer[0])
    except msgspec.DecodeError as error:
        raise InputError(f"what is kept of it cannot be read: {error}") from None


def _stored(
    row: sqlite3.Row, bodies: list[bytes], branch: list[bytes], answer: bytes | None
) -> StoredRun:
    return StoredRun(
        id=row["id"],
        message_id=row["message_id"],
        model=row["model"],
        created_ms=row["created_ms"],
        is_live=row["state"] == "live",
        records=[decode_record(body) for body in bodies],
        message=None if answer is None else _message(answer),
        earlier=[_message(body) for body in branch],
    )


def _check_version(connection: sqlite3.Connection) -> None:
    from headrace.server.storage.migrations import MIGRATIONS

    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != len(MIGRATIONS):
        mend = "update Headrace" if version > len(MIGRATIONS) else "start headrace serve on it once"
        raise InputError(
            f"the data is of version {version}, this Headrace knows {len(MIGRATIONS)}: {mend}"
        )


def _row(connection: sqlite3.Connection, folder: Path, name: str) -> sqlite3.Row:
    if name == NEWEST:
        found = connection.execute(
            "SELECT * FROM runs ORDER BY created_ms DESC, rowid DESC LIMIT 1"
        )
    elif len(name) < _MIN_ID_CHARS:
        raise InputError(f"an id has more characters; {_MIN_ID_CHARS} of them are enough")
    else:
        found = connection.execute(
            "SELECT * FROM runs WHERE substr(id, 1, :length) = :name"
            " OR substr(message_id, 1, :length) = :name LIMIT 2",
            {"length": len(name), "name": name},
        )
    rows: list[sqlite3.Row] = found.fetchall()
    if len(rows) > 1:
        raise InputError("more than one run begins so: give more of the id")
    if not rows:
        raise InputError(f"no such run in {folder}{_newest(connection)}")
    return rows[0]


def _newest(connection: sqlite3.Connection) -> str:
    """What there is, for somebody who does not know."""
    rows = connection.execute("SELECT id FROM runs ORDER BY created_ms DESC, rowid DESC LIMIT 3")
    ids = [str(row["id"]) for row in rows]
    return f": the newest are {', '.join(ids)}" if ids else ": it has none"


def _branch(connection: sqlite3.Connection, message_id: str | None) -> list[bytes]:
    """The messages from the first down to this one."""
    found: list[bytes] = []
    while message_id is not None and len(found) < _MAX_BRANCH:
        row = connection.execute(
            "SELECT body, parent_id FROM messages WHERE id = ?", (message_id,)
        ).fetchone()
        if row is None:
            break
        found.append(row["body"])
        message_id = row["parent_id"]
    return found[::-1]


def _message(body: bytes) -> Message:
    return msgspec.json.decode(body, type=Message)

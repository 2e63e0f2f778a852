"""The inbox of runs: answers, messages and cancellations that clients have sent, until the run has
taken them. An entry is stored before the client is told that it was accepted."""

from __future__ import annotations

import sqlite3
from typing import Any, Literal, TypeAlias

import msgspec

EntryKind: TypeAlias = Literal["answer", "steer", "queue", "cancel"]
_decode = msgspec.json.decode
_encode = msgspec.json.Encoder().encode


class InboxEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the inbox of a run."""

    id: str
    run_id: str
    kind: EntryKind
    request_id: str | None = None
    """The request that an answer is for."""
    body: dict[str, Any]
    """The arguments of `Run.answer()`, or the text of a message and the id of the quota that counts
    its answer."""
    created_ms: int


def add_entry(connection: sqlite3.Connection, entry: InboxEntry) -> InboxEntry:
    """Insert an entry. Returns the entry that counts: that with the same id, or the first answer to
    the same request."""
    query = "SELECT * FROM inbox WHERE id = ? OR (run_id = ? AND request_id = ?)"
    found = connection.execute(query, (entry.id, entry.run_id, entry.request_id)).fetchone()
    if found is not None:
        return _to_entry(found)
    connection.execute(
        "INSERT INTO inbox (id, run_id, kind, request_id, body, created_ms)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            entry.id,
            entry.run_id,
            entry.kind,
            entry.request_id,
            _encode(entry.body),
            entry.created_ms,
        ),
    )
    return entry


def find_entry(connection: sqlite3.Connection, entry_id: str) -> InboxEntry | None:
    """Return an entry, or None."""
    row = connection.execute("SELECT * FROM inbox WHERE id = ?", (entry_id,)).fetchone()
    return None if row is None else _to_entry(row)


def move_entries(connection: sqlite3.Connection, run_id: str, next_run_id: str) -> None:
    """Give the entries that a run has not taken to the run that follows it."""
    connection.execute(
        "UPDATE inbox SET run_id = ? WHERE run_id = ? AND is_taken = 0", (next_run_id, run_id)
    )


def read_open_entries(connection: sqlite3.Connection, run_id: str) -> list[InboxEntry]:
    """Return the entries that the run has not taken yet, the oldest first."""
    query = "SELECT * FROM inbox WHERE run_id = ? AND is_taken = 0 ORDER BY created_ms, rowid"
    return [_to_entry(row) for row in connection.execute(query, (run_id,))]


def take_entries(connection: sqlite3.Connection, entry_ids: list[str]) -> None:
    """Note that the run has these entries in its log."""
    connection.executemany(
        "UPDATE inbox SET is_taken = 1 WHERE id = ?", [(entry_id,) for entry_id in entry_ids]
    )


def suspend_run(
    connection: sqlite3.Connection,
    run_id: str,
    now_ms: int,
    expires_ms: int | None,
    even_with_input: bool,
) -> bool:
    """Mark a run as suspended, unless its inbox has entries that can wake it."""
    changed = connection.execute(
        "UPDATE runs SET suspended_ms = ?, expires_ms = ? WHERE id = ? AND state = 'live'"
        " AND (? OR NOT EXISTS (SELECT 1 FROM inbox WHERE run_id = runs.id AND is_taken = 0"
        " AND kind IN ('answer', 'cancel')))",
        (now_ms, expires_ms, run_id, even_with_input),
    )
    return changed.rowcount == 1


def claim_run(connection: sqlite3.Connection, run_id: str, even_if_live: bool) -> int | None:
    """Mark a run as live again. Returns its new epoch, or None if it was not suspended."""
    changed = connection.execute(
        "UPDATE runs SET suspended_ms = NULL, expires_ms = NULL, epoch = epoch + 1"
        " WHERE id = ? AND state = 'live' AND (? OR suspended_ms IS NOT NULL)",
        (run_id, even_if_live),
    )
    if changed.rowcount != 1:
        return None
    row = connection.execute("SELECT epoch FROM runs WHERE id = ?", (run_id,)).fetchone()
    return int(row["epoch"])


def _to_entry(row: sqlite3.Row) -> InboxEntry:
    return msgspec.convert({**dict(row), "body": _decode(row["body"])}, InboxEntry)

"""Deletes conversations: small ones in one transaction, large ones in several.

A conversation that is being deleted is hidden by `deleted_ms`, so that it does not appear again if
the server is killed in between; the next start deletes the rest.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from headrace.server.storage.sqlite.record_writer import RecordWriter
from headrace.server.storage.store import row as tables
from headrace.server.storage.store.store import RunLive

SLICE_BYTES: Final = 1_000_000
"""About how much one transaction deletes: all streams wait for it."""
_MAX_ROWS: Final = 500


def hide(
    connection: sqlite3.Connection,
    records: RecordWriter,
    owner: str,
    conversation_id: str,
    now_ms: int,
) -> list[str]:
    """Hide a conversation, to be deleted by `delete_slice()`; return the ids of its runs.

    Raises `NotFound` and `RunLive`.
    """
    tables.find_conversation(connection, owner, conversation_id)
    runs = connection.execute(
        "SELECT id, state, suspended_ms, message_id FROM runs WHERE conversation_id = ?",
        (conversation_id,),
    ).fetchall()
    for run in runs:
        if run["state"] == "live" and run["suspended_ms"] is None:
            raise RunLive(run["message_id"])
    records.empty_batches(connection)
    connection.execute(
        "UPDATE conversations SET deleted_ms = ?, title = '', instructions = NULL WHERE id = ?",
        (now_ms, conversation_id),
    )
    connection.execute(
        "UPDATE runs SET idempotency_key = NULL WHERE conversation_id = ?", (conversation_id,)
    )
    return [run["id"] for run in runs]


def delete_slice(connection: sqlite3.Connection, conversation_id: str) -> bool:
    """Delete a part of a hidden conversation; return whether nothing is left of it."""
    chunks = connection.execute(
        "SELECT record_chunks.id, length(body) AS size FROM runs"
        " JOIN record_chunks ON run_id = runs.id WHERE conversation_id = ? LIMIT ?",
        (conversation_id, _MAX_ROWS),
    ).fetchall()
    for row in _take(chunks):
        connection.execute("DELETE FROM record_chunks WHERE id = ?", (row["id"],))
    if len(chunks) == _MAX_ROWS or not _fits(chunks):
        return False
    return _delete_rest(connection, conversation_id)


def _delete_rest(connection: sqlite3.Connection, conversation_id: str) -> bool:
    messages = connection.execute(
        "SELECT rowid AS id, words_row, length(body) AS size FROM messages"
        " WHERE conversation_id = ? LIMIT ?",
        (conversation_id, _MAX_ROWS),
    ).fetchall()
    for row in _take(messages):
        connection.execute("DELETE FROM word_index WHERE rowid = ?", (row["words_row"],))
        connection.execute("DELETE FROM messages WHERE rowid = ?", (row["id"],))
    if len(messages) == _MAX_ROWS or not _fits(messages):
        return False
    connection.execute(
        "DELETE FROM title_index WHERE rowid = (SELECT title_row FROM conversations WHERE id = ?)",
        (conversation_id,),
    )
    connection.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))
    return True


def find_hidden(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the conversations of which something is left to delete."""
    query = "SELECT id FROM conversations WHERE deleted_ms IS NOT NULL"
    return [row[0] for row in connection.execute(query)]


def _take(rows: list[sqlite3.Row]) -> list[sqlite3.Row]:
    """Return the first rows, at least one, that are not larger than a slice together."""
    size = 0
    for count, row in enumerate(rows):
        size += row["size"]
        if size > SLICE_BYTES:
            return rows[: max(1, count)]
    return rows


def _fits(rows: list[sqlite3.Row]) -> bool:
    return len(_take(rows)) == len(rows)

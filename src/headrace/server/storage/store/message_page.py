"""Reads a page of the messages of a conversation: bounded in number and in bytes."""

from __future__ import annotations

import sqlite3

from headrace.server.storage.store import row as tables
from headrace.server.storage.store.store import MessageQuery


def read_page(
    connection: sqlite3.Connection, owner: str, conversation_id: str, query: MessageQuery
) -> tuple[list[sqlite3.Row], bool]:
    """Return the messages of a page, the oldest first, and whether there are more.

    Raises `NotFound`.
    """
    found, has_more = _choose(connection, owner, conversation_id, query)
    rows = [
        connection.execute("SELECT * FROM messages WHERE rowid = ?", (row["place"],)).fetchone()
        for row in found
    ]
    # A conversation may be deleted in several transactions while it is read.
    rows = [row for row in rows if row is not None]
    return (rows if query.after is not None else rows[::-1]), has_more


def page_bytes(
    connection: sqlite3.Connection, owner: str, conversation_id: str, query: MessageQuery
) -> int:
    """Return the size of the messages of a page, as they are stored. Raises `NotFound`."""
    found, _ = _choose(connection, owner, conversation_id, query)
    return sum(row["size"] for row in found)


def _choose(
    connection: sqlite3.Connection, owner: str, conversation_id: str, query: MessageQuery
) -> tuple[list[sqlite3.Row], bool]:
    """Return place and size of the messages of a page, the nearest first, and whether there are
    more. SQLite knows the size of a message without reading it."""
    tables.find_conversation(connection, owner, conversation_id)
    is_forward = query.after is not None
    sign, order = (">", "ASC") if is_forward else ("<", "DESC")
    values: list[object] = [conversation_id, owner]
    condition = ""
    if start := query.after or query.before:
        message = tables.find_message(connection, owner, start, conversation_id)
        condition = (
            f" AND (created_ms, rowid) {sign} (?, (SELECT rowid FROM messages WHERE id = ?))"
        )
        values += (message["created_ms"], start)
    found = connection.execute(
        "SELECT rowid AS place, length(body) AS size FROM messages"
        f" WHERE conversation_id = ? AND owner = ?{condition}"
        f" ORDER BY created_ms {order}, rowid {order} LIMIT ?",
        (*values, query.limit + 1),
    ).fetchall()
    count = count_fitting([row["size"] for row in found[: query.limit]], query.max_bytes)
    return found[:count], len(found) > count


def count_fitting(sizes: list[int], max_bytes: int) -> int:
    """Return how many of the first messages, at least one, have at most `max_bytes` together."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if count and total > max_bytes:
            return count
    return len(sizes)

"""Rows of the store: how they are found, what they mean, and what a new one changes around it."""

from __future__ import annotations

import sqlite3

import msgspec

from headrace.messages import Message
from headrace.server.storage.store.store import Conversation, NotFound, RunRow, StoredMessage

_decode_message = msgspec.json.Decoder(Message).decode


def there(row: sqlite3.Row | list[sqlite3.Row] | None) -> sqlite3.Row:
    if row is None:
        raise NotFound("there is nothing of that id")
    return row  # type: ignore[return-value]


def find(connection: sqlite3.Connection, owner: str, conversation_id: str) -> sqlite3.Row:
    return there(
        connection.execute(
            "SELECT * FROM conversations WHERE id = ? AND owner = ?", (conversation_id, owner)
        ).fetchone()
    )


def find_message(
    connection: sqlite3.Connection, owner: str, message_id: str, conversation_id: str | None
) -> sqlite3.Row:
    row = there(
        connection.execute(
            "SELECT * FROM messages WHERE id = ? AND owner = ?", (message_id, owner)
        ).fetchone()
    )
    if conversation_id is not None and row["conversation_id"] != conversation_id:
        raise NotFound("there is nothing of that id")
    return row


def conversation_of(row: sqlite3.Row) -> Conversation:
    return Conversation(
        id=row["id"],
        title=row["title"],
        created_ms=row["created_ms"],
        updated_ms=row["updated_ms"],
        leaf_id=row["leaf_id"],
    )


def stored_of(row: sqlite3.Row) -> StoredMessage:
    return StoredMessage(
        id=row["id"],
        conversation_id=row["conversation_id"],
        parent_id=row["parent_id"],
        message=_decode_message(row["body"]),
    )


def run_of(row: sqlite3.Row) -> RunRow:
    return RunRow(
        id=row["id"],
        owner=row["owner"],
        conversation_id=row["conversation_id"],
        parent_id=row["parent_id"],
        message_id=row["message_id"],
        model=row["model"],
        created_ms=row["created_ms"],
        is_live=row["state"] == "live",
    )


def index_words(
    connection: sqlite3.Connection, message_id: str, conversation_id: str, owner: str, text: str
) -> int | None:
    """Have them found; returns the row, by which alone they can be forgotten."""
    return connection.execute(
        "INSERT INTO words (text, message_id, conversation_id, owner) VALUES (?, ?, ?, ?)",
        (text, message_id, conversation_id, owner),
    ).lastrowid


def index_title(
    connection: sqlite3.Connection, conversation_id: str, owner: str, title: str
) -> int | None:
    """The same of a title."""
    return connection.execute(
        "INSERT INTO titles (text, conversation_id, owner) VALUES (?, ?, ?)",
        (title, conversation_id, owner),
    ).lastrowid


def touch(
    connection: sqlite3.Connection,
    conversation_id: str,
    leaf_id: str,
    at_ms: int,
    follows: str | None = None,
) -> None:
    """Move the leaf; an answer only where the reader has stayed with its question."""
    connection.execute(
        "UPDATE conversations SET updated_ms = MAX(updated_ms, ?),"
        " leaf_id = CASE WHEN ? IS NULL OR leaf_id = ? THEN ? ELSE leaf_id END WHERE id = ?",
        (at_ms, follows, follows, leaf_id, conversation_id),
    )

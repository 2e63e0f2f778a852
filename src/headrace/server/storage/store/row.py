"""Rows of the store's tables: queries shared by several operations, and conversion to values."""

from __future__ import annotations

import sqlite3

import msgspec

from headrace.messages import Message
from headrace.server.storage.snippet import SnippetPart, cut_snippet
from headrace.server.storage.sqlite.search_index import to_terms
from headrace.server.storage.store.store import (
    AnswerUse,
    Conversation,
    NotFound,
    RunRow,
    StoredMessage,
)

decode_message = msgspec.json.Decoder(Message).decode
# More than any real conversation has; a damaged tree must not make the query endless.
_MAX_BRANCH = 10_000


def require_row(row: sqlite3.Row | None) -> sqlite3.Row:
    """Return the row. Raises `NotFound` if there is none."""
    if row is None:
        raise NotFound("nothing with this id was found")
    return row


def find_conversation(
    connection: sqlite3.Connection, owner: str, conversation_id: str
) -> sqlite3.Row:
    return require_row(
        connection.execute(
            "SELECT * FROM conversations WHERE id = ? AND owner = ? AND deleted_ms IS NULL",
            (conversation_id, owner),
        ).fetchone()
    )


def find_message(
    connection: sqlite3.Connection, owner: str, message_id: str, conversation_id: str | None
) -> sqlite3.Row:
    """Find a message, in any conversation if None is given. Raises `NotFound`."""
    return require_row(
        connection.execute(
            "SELECT * FROM messages WHERE id = ? AND owner = ?"
            " AND conversation_id = coalesce(?, conversation_id) AND EXISTS (SELECT 1 FROM"
            " conversations WHERE id = conversation_id AND deleted_ms IS NULL)",
            (message_id, owner, conversation_id),
        ).fetchone()
    )


def read_branch(connection: sqlite3.Connection, message_id: str) -> list[sqlite3.Row]:
    """Return the messages from the root of the tree down to this one."""
    return connection.execute(
        f"{_BRANCH} SELECT messages.* FROM up CROSS JOIN messages ON messages.id = up.id"
        " ORDER BY up.depth DESC",
        (message_id, _MAX_BRANCH),
    ).fetchall()


def read_branch_ids(connection: sqlite3.Connection, message_id: str) -> list[str]:
    """Return the ids of the messages from the root of the tree down to this one."""
    query = f"{_BRANCH} SELECT id FROM up WHERE id IS NOT NULL ORDER BY depth DESC"
    return [row[0] for row in connection.execute(query, (message_id, _MAX_BRANCH))]


_BRANCH = (
    "WITH RECURSIVE up (id, depth) AS ("
    # Not a join: with statistics, SQLite would read every message for a filter. The last id is
    # NULL.
    " SELECT ?, 0 UNION ALL SELECT (SELECT parent_id FROM messages WHERE messages.id = up.id),"
    " up.depth + 1 FROM up WHERE up.id IS NOT NULL AND up.depth < ?)"
)


def to_conversation(row: sqlite3.Row) -> Conversation:
    fields = dict(row)
    for name in ("is_pinned", "is_unread"):
        fields[name] = bool(row[name])
    return msgspec.convert(fields, Conversation)


def to_stored_message(row: sqlite3.Row) -> StoredMessage:
    message = decode_message(row["body"])
    return msgspec.convert({**dict(row), "message": message}, StoredMessage)


def to_run(row: sqlite3.Row) -> RunRow:
    fields = dict(row)
    fields["is_live"] = row["state"] == "live"
    fields["is_suspended"] = fields["is_live"] and row["suspended_ms"] is not None
    return msgspec.convert(fields, RunRow)


def index_words(
    connection: sqlite3.Connection, conversation_id: str, owner: str, text: str
) -> int | None:
    """Add a message to the search index; return its row there, which is needed to delete it."""
    return connection.execute(
        "INSERT INTO word_index (terms, conversation_id) VALUES (?, ?)",
        (to_terms(owner, text), conversation_id),
    ).lastrowid


def index_title(
    connection: sqlite3.Connection, conversation_id: str, owner: str, title: str
) -> int | None:
    """Add a title to the search index; return its row there, which is needed to delete it."""
    return connection.execute(
        "INSERT INTO title_index (terms, conversation_id) VALUES (?, ?)",
        (to_terms(owner, title), conversation_id),
    ).lastrowid


def not_before_parent(connection: sqlite3.Connection, parent_id: str | None, at_ms: int) -> int:
    """Return the time of a new message for the order of messages: not before that of the message
    it follows, even if the clock was set back in between."""
    query = "SELECT created_ms FROM messages WHERE id = ?"
    parent = connection.execute(query, (parent_id,)).fetchone()
    return at_ms if parent is None else max(at_ms, parent["created_ms"])


def touch(
    connection: sqlite3.Connection,
    conversation_id: str,
    leaf_id: str,
    at_ms: int,
    follows: str | None = None,
) -> None:
    """Update the time of a conversation and its active leaf.

    With `follows`, the leaf moves only if it is that message: a user who has switched to another
    branch stays there.
    """
    connection.execute(
        "UPDATE conversations SET updated_ms = MAX(updated_ms, ?),"
        " leaf_id = CASE WHEN ? IS NULL OR leaf_id = ? THEN ? ELSE leaf_id END WHERE id = ?",
        (at_ms, follows, follows, leaf_id, conversation_id),
    )


def set_title(connection: sqlite3.Connection, found: sqlite3.Row, title: str) -> None:
    """Set the title of a conversation, also in the search index."""
    connection.execute(
        "UPDATE conversations SET title = ?, is_titled = 1 WHERE id = ?", (title, found["id"])
    )
    connection.execute(
        "UPDATE title_index SET terms = ? WHERE rowid = ?",
        (to_terms(found["owner"], title), found["title_row"]),
    )


def note_answer(connection: sqlite3.Connection, conversation_id: str, use: AnswerUse) -> None:
    """Mark a conversation as unread, and add what its new answer has used."""
    connection.execute(
        "UPDATE conversations SET is_unread = 1, context_tokens = coalesce(?1, context_tokens),"
        " total_tokens = coalesce(total_tokens + ?2, total_tokens, ?2),"
        " cost = coalesce(cost + ?3, cost, ?3) WHERE id = ?4",
        (*use, conversation_id),
    )


def read_snippet(body: bytes | None, words: str) -> tuple[SnippetPart, ...]:
    """Return the text of a stored message around the first match of a search. Empty if it is too
    long, or damaged: a search must not fail for it."""
    if body is None:
        return ()
    try:
        return cut_snippet(decode_message(body).text, words)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()

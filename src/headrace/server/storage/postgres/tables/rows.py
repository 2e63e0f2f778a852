"""Rows of the tables in PostgreSQL: queries shared by several operations, and conversion to
values."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace.server.storage.postgres.pool import Connection
from headrace.server.storage.search_terms import list_terms
from headrace.server.storage.store.row import decode_message, read_snippet
from headrace.server.storage.store.store import (
    AnswerUse,
    Conversation,
    NotFound,
    RunRow,
    SearchHit,
    StoredMessage,
)

# More than any real conversation has; a damaged tree must not make the query endless.
_MAX_BRANCH: Final = 10_000


def require_row(row: Any) -> Any:
    """Return the row. Raises `NotFound` if there is none."""
    if row is None:
        raise NotFound("nothing with this id was found")
    return row


async def find_conversation(
    connection: Connection, owner: str, conversation_id: str, *, is_locked: bool = False
) -> Any:
    """Find a conversation; with `is_locked`, everyone else who wants to change it waits. Raises
    `NotFound`."""
    query = "SELECT * FROM conversations WHERE id = $1 AND owner = $2 AND deleted_ms IS NULL"
    if is_locked:
        query += " FOR UPDATE"
    return require_row(await connection.fetchrow(query, conversation_id, owner))


async def find_message(
    connection: Connection, owner: str, message_id: str, conversation_id: str | None
) -> Any:
    """Find a message, in any conversation if None is given. Raises `NotFound`."""
    row = await connection.fetchrow(
        "SELECT messages.* FROM messages JOIN conversations ON conversations.id = conversation_id"
        " WHERE messages.id = $1 AND messages.owner = $2 AND deleted_ms IS NULL"
        " AND conversation_id = coalesce($3, conversation_id)",
        message_id,
        owner,
        conversation_id,
    )
    return require_row(row)


BRANCH: Final = (
    "WITH RECURSIVE up (id, depth) AS ("
    " SELECT $1::text, 0 UNION ALL SELECT messages.parent_id, up.depth + 1 FROM messages"
    " JOIN up ON messages.id = up.id WHERE messages.parent_id IS NOT NULL"
    f" AND up.depth < {_MAX_BRANCH})"
)
"""The ids from a message up to the root of the tree."""


def to_conversation(row: Any) -> Conversation:
    """Return the conversation of a row."""
    return Conversation(
        id=row["id"],
        title=row["title"],
        created_ms=row["created_ms"],
        updated_ms=row["updated_ms"],
        leaf_id=row["leaf_id"],
        is_pinned=row["is_pinned"],
        is_unread=row["is_unread"],
        instructions=row["instructions"],
        context_tokens=row["context_tokens"],
        total_tokens=row["total_tokens"],
        cost=row["cost"],
    )


def to_hit(row: Any, words: str) -> SearchHit:
    """Return what a search has found, with the text of the message around the first match."""
    return SearchHit(
        conversation=to_conversation(row),
        message_id=row["message_id"],
        snippet=read_snippet(row["message_body"], words),
    )


def to_stored_message(row: Any) -> StoredMessage:
    """Return the message of a row."""
    return StoredMessage(
        id=row["id"],
        conversation_id=row["conversation_id"],
        parent_id=row["parent_id"],
        message=decode_message(row["body"]),
    )


def to_run(row: Any) -> RunRow:
    """Return the run of a row."""
    fields = dict(row)
    fields["is_live"] = row["state"] == "live"
    fields["is_suspended"] = fields["is_live"] and row["suspended_ms"] is not None
    return msgspec.convert(fields, RunRow)


def to_lexemes(owner: str, text: str) -> list[str]:
    """Return the terms of a text for the search index. Each begins with the term of the owner: so
    the index finds the texts of one user without looking at those of others, or at all of the
    user's."""
    owner_term, *terms = list_terms(owner, text)
    return [owner_term + term for term in terms if "\0" not in term]


async def not_before_parent(connection: Connection, parent_id: str | None, at_ms: int) -> int:
    """Return the time of a new message for the order of messages: not before that of the message it
    follows, even if the clock of another server is behind."""
    parent_ms = await connection.fetchval(
        "SELECT created_ms FROM messages WHERE id = $1", parent_id
    )
    return at_ms if parent_ms is None else max(at_ms, parent_ms)


async def touch(
    connection: Connection,
    conversation_id: str,
    leaf_id: str,
    at_ms: int,
    follows: str | None = None,
) -> None:
    """Update the time of a conversation and its active leaf.

    With `follows`, the leaf moves only if it is that message: a user who has switched to another
    branch stays there.
    """
    await connection.execute(
        "UPDATE conversations SET updated_ms = greatest(updated_ms, $2), leaf_id = CASE"
        " WHEN $4::text IS NULL OR leaf_id = $4 THEN $3 ELSE leaf_id END WHERE id = $1",
        conversation_id,
        at_ms,
        leaf_id,
        follows,
    )


async def insert_message(
    connection: Connection,
    stored: StoredMessage,
    owner: str,
    body: bytes,
    at_ms: int,
    run_id: str | None = None,
) -> None:
    """Insert a message, with its place in the tree and its terms for searches."""
    message = stored.message
    at_ms = await not_before_parent(connection, stored.parent_id, at_ms)
    await connection.execute(
        "INSERT INTO messages (id, conversation_id, owner, parent_id, run_id, role, created_ms,"
        " body, terms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, array_to_tsvector($9::text[]))",
        stored.id,
        stored.conversation_id,
        owner,
        stored.parent_id,
        run_id,
        message.role,
        at_ms,
        body,
        to_lexemes(owner, message.text),
    )


async def add_stored_bytes(connection: Connection, owner: str, count: int) -> None:
    """Add to the bytes that are stored for a user."""
    await connection.execute(
        "INSERT INTO stored_bytes VALUES ($1, $2)"
        " ON CONFLICT (owner) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes",
        owner,
        count,
    )


async def note_answer(connection: Connection, conversation_id: str, use: AnswerUse) -> None:
    """Mark a conversation as unread, and add what its new answer has used."""
    await connection.execute(
        "UPDATE conversations SET is_unread = true,"
        " context_tokens = coalesce($1::bigint, context_tokens),"
        " total_tokens = coalesce(total_tokens + $2::bigint, total_tokens, $2),"
        " cost = coalesce(cost + $3::double precision, cost, $3) WHERE id = $4",
        *use,
        conversation_id,
    )

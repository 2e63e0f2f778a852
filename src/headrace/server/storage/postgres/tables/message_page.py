"""Reads a page of the messages of a conversation in PostgreSQL: bounded in number and in bytes."""

from __future__ import annotations

from typing import Any

from headrace.server.storage.postgres.pool import Connection
from headrace.server.storage.postgres.tables import rows
from headrace.server.storage.store.message_page import count_fitting
from headrace.server.storage.store.store import MessageQuery


async def read_page(
    connection: Connection, owner: str, conversation_id: str, query: MessageQuery
) -> tuple[list[Any], bool]:
    """Return the messages of a page, the oldest first, and whether there are more.

    Raises `NotFound`.
    """
    found, has_more = await _choose(connection, owner, conversation_id, query)
    messages = await connection.fetch(
        "SELECT * FROM messages WHERE id = ANY($1) ORDER BY created_ms, place",
        [row["id"] for row in found],
    )
    return messages, has_more


async def page_bytes(
    connection: Connection, owner: str, conversation_id: str, query: MessageQuery
) -> int:
    """Return the size of the messages of a page, as they are stored. Raises `NotFound`."""
    found, _ = await _choose(connection, owner, conversation_id, query)
    return sum(row["size"] for row in found)


async def _choose(
    connection: Connection, owner: str, conversation_id: str, query: MessageQuery
) -> tuple[list[Any], bool]:
    """Return id and size of the messages of a page, the nearest first, and whether there are
    more."""
    await rows.find_conversation(connection, owner, conversation_id)
    is_forward = query.after is not None
    sign, order = (">", "ASC") if is_forward else ("<", "DESC")
    values: list[Any] = [conversation_id, owner, query.limit + 1]
    condition = ""
    if start := query.after or query.before:
        message = await rows.find_message(connection, owner, start, conversation_id)
        condition = f" AND (created_ms, place) {sign} ($4, $5)"
        values += (message["created_ms"], message["place"])
    found = await connection.fetch(
        f"SELECT id, size FROM messages WHERE conversation_id = $1 AND owner = $2{condition}"
        f" ORDER BY created_ms {order}, place {order} LIMIT $3",
        *values,
    )
    count = count_fitting([row["size"] for row in found[: query.limit]], query.max_bytes)
    return found[:count], len(found) > count

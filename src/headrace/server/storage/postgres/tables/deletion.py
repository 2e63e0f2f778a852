"""Deletes conversations in PostgreSQL: hidden first, then a part at a time."""

from __future__ import annotations

from typing import Final

from headrace.server.storage.postgres.pool import Connection, Pool
from headrace.server.storage.postgres.tables import rows
from headrace.server.storage.store.store import RunLive

_MAX_ROWS: Final = 500


async def hide(connection: Connection, owner: str, conversation_id: str, now_ms: int) -> list[str]:
    """Hide a conversation, to be deleted by `delete_hidden()`; return the ids of its runs.

    Raises `NotFound` and `RunLive`.
    """
    await rows.find_conversation(connection, owner, conversation_id, is_locked=True)
    runs = await connection.fetch(
        "SELECT id, state, suspended_ms, message_id FROM runs WHERE conversation_id = $1"
        " FOR UPDATE",
        conversation_id,
    )
    for run in runs:
        if run["state"] == "live" and run["suspended_ms"] is None:
            raise RunLive(run["message_id"])
    await connection.execute(
        "UPDATE conversations SET deleted_ms = $2, title = '', terms = NULL,"
        " instructions = NULL WHERE id = $1",
        conversation_id,
        now_ms,
    )
    await connection.execute(
        "UPDATE runs SET idempotency_key = NULL WHERE conversation_id = $1", conversation_id
    )
    return [run["id"] for run in runs]


async def delete_hidden(pool: Pool, conversation_id: str) -> None:
    """Delete a hidden conversation, in transactions that nothing else waits for."""
    while await _delete_records(pool, conversation_id) or await _delete_messages(
        pool, conversation_id
    ):
        pass
    async with pool.transaction() as connection:
        await connection.execute(
            "DELETE FROM log_heads WHERE run_id IN"
            " (SELECT id FROM runs WHERE conversation_id = $1)",
            conversation_id,
        )
        deleted = await connection.fetch(
            "DELETE FROM runs WHERE conversation_id = $1"
            " RETURNING coalesce(octet_length(request), 0) AS size",
            conversation_id,
        )
        await _subtract(connection, conversation_id, sum(row["size"] for row in deleted))
        await connection.execute("DELETE FROM conversations WHERE id = $1", conversation_id)


async def _delete_records(pool: Pool, conversation_id: str) -> int:
    async with pool.transaction() as connection:
        deleted = await connection.fetch(
            "DELETE FROM log_chunks WHERE ctid IN (SELECT log_chunks.ctid FROM runs"
            " JOIN log_chunks ON run_id = runs.id WHERE conversation_id = $1 LIMIT $2)"
            " RETURNING length(body) AS size, run_id",
            conversation_id,
            _MAX_ROWS,
        )
        await _subtract(connection, conversation_id, sum(row["size"] for row in deleted))
    return len(deleted)


async def _delete_messages(pool: Pool, conversation_id: str) -> int:
    async with pool.transaction() as connection:
        deleted = await connection.fetch(
            "DELETE FROM messages WHERE ctid IN (SELECT ctid FROM messages"
            " WHERE conversation_id = $1 LIMIT $2) RETURNING size",
            conversation_id,
            _MAX_ROWS,
        )
        await _subtract(connection, conversation_id, sum(row["size"] for row in deleted))
    return len(deleted)


async def _subtract(connection: Connection, conversation_id: str, size: int) -> None:
    await connection.execute(
        "UPDATE stored_bytes SET bytes = greatest(0, bytes - $2) WHERE owner ="
        " (SELECT owner FROM conversations WHERE id = $1)",
        conversation_id,
        size,
    )


async def finish_deletions(pool: Pool) -> int:
    """Delete what a server that was killed has left hidden; return how many conversations."""
    found = await pool.fetch("SELECT id FROM conversations WHERE deleted_ms IS NOT NULL LIMIT 100")
    for row in found:
        await delete_hidden(pool, row["id"])
    return len(found)

"""Begins a run in PostgreSQL: place in the message tree, user message, run, idempotency key.

Everything that is checked is locked first: two servers that begin an answer to the same message at
the same moment begin one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.server.storage.postgres.log import create_head
from headrace.server.storage.postgres.pool import Connection, to_text
from headrace.server.storage.postgres.tables import rows
from headrace.server.storage.store.new_run import make_title
from headrace.server.storage.store.store import (
    KeyTaken,
    NotFound,
    RunLive,
    RunRow,
    RunStart,
    StartedRun,
    StoredMessage,
)

_encode = msgspec.json.Encoder().encode


async def find_repeated(connection: Connection, start: RunStart) -> StartedRun | None:
    """Return the run that the same idempotency key has begun, if any. Raises `KeyTaken`."""
    if start.idempotency_key is None:
        return None
    known = await connection.fetchrow(
        "SELECT * FROM runs WHERE owner = $1 AND idempotency_key = $2",
        start.owner,
        start.idempotency_key,
    )
    if known is None:
        return None
    if known["fingerprint"] != start.fingerprint:
        raise KeyTaken("this idempotency key was already used for another request")
    return StartedRun(run=rows.to_run(known), is_repeated=True)


async def find_begun(connection: Connection, start: RunStart) -> StartedRun | None:
    """Return the run that this very start has begun, if any: its id was chosen for it. If the reply
    took long, another server may have claimed the run meanwhile, and works on it."""
    row = await connection.fetchrow("SELECT * FROM runs WHERE id = $1", start.run_id)
    if row is None:
        return None
    run = rows.to_run(row)
    return StartedRun(run=run, is_repeated=run.epoch > 0)


async def begin_run(connection: Connection, start: RunStart, node: str) -> StartedRun:
    """Insert the user message and the run. Raises `NotFound`, `RunLive` and `KeyTaken`."""
    if start.idempotency_key is not None:
        # The same key at several servers: the second one waits here, and then finds the run.
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
            f"{start.owner}\x1f{start.idempotency_key}",
        )
    known = await find_repeated(connection, start)
    if known is not None:
        return known
    conversation_id, parent_id = await _find_place(connection, start)
    if not start.is_branch:
        await _check_no_live_run(connection, start.owner, conversation_id, parent_id)
    question_id = await _insert_prompt(connection, start, conversation_id, parent_id)
    run = RunRow(
        id=start.run_id,
        owner=start.owner,
        conversation_id=conversation_id,
        parent_id=question_id,
        message_id=start.message_id,
        model=start.model,
        created_ms=start.now_ms,
        is_live=True,
        request=start.request,
        holder=node,
    )
    await _insert_run(connection, run, start)
    await create_head(connection, run.id)
    return StartedRun(run=run)


async def _find_place(connection: Connection, start: RunStart) -> tuple[str, str | None]:
    """Return the conversation, created if it is new and locked in any case, and the message that
    the run follows."""
    if start.conversation_id is None or start.prompt is None:
        return await _find_question(connection, start)
    if start.is_new and await _create_conversation(connection, start, start.prompt):
        return start.conversation_id, None
    found = await rows.find_conversation(
        connection, start.owner, start.conversation_id, is_locked=True
    )
    if start.beside_id is not None:
        beside = await rows.find_message(
            connection, start.owner, start.beside_id, start.conversation_id
        )
        return start.conversation_id, beside["parent_id"]
    if start.parent_id is None:
        return start.conversation_id, found["leaf_id"]
    await rows.find_message(connection, start.owner, start.parent_id, start.conversation_id)
    return start.conversation_id, start.parent_id


async def _create_conversation(
    connection: Connection, start: RunStart, prompt: StoredMessage
) -> bool:
    """Create the conversation. Returns False if another request has: its id may be derived from a
    name that a client has chosen."""
    title = to_text(make_title(start, prompt))
    created = await connection.fetchval(
        "INSERT INTO conversations (id, owner, title, created_ms, updated_ms, terms, instructions)"
        " VALUES ($1, $2, $3, $4, $4, array_to_tsvector($5::text[]), $6)"
        " ON CONFLICT (id) DO NOTHING RETURNING id",
        start.conversation_id,
        start.owner,
        title,
        start.now_ms,
        rows.to_lexemes(start.owner, title),
        None if start.instructions is None else to_text(start.instructions),
    )
    return created is not None


async def _find_question(connection: Connection, start: RunStart) -> tuple[str, str | None]:
    """Return the conversation and the stored user message that is answered again."""
    row = await rows.find_message(
        connection, start.owner, start.parent_id or "", start.conversation_id
    )
    if row["role"] != "user":
        raise NotFound("no user message with this id: only those can be answered again")
    await rows.find_conversation(connection, start.owner, row["conversation_id"], is_locked=True)
    return row["conversation_id"], row["id"]


async def _check_no_live_run(
    connection: Connection, owner: str, conversation_id: str, parent_id: str | None
) -> None:
    """Raise `RunLive` if an answer to this message, or to a reply to it, is being written."""
    live = await connection.fetchval(
        "SELECT runs.message_id FROM runs LEFT JOIN messages ON messages.id = runs.parent_id"
        " WHERE runs.conversation_id = $1 AND runs.owner = $2 AND runs.state = 'live'"
        " AND (runs.parent_id IS NOT DISTINCT FROM $3"
        "  OR messages.parent_id IS NOT DISTINCT FROM $3) LIMIT 1",
        conversation_id,
        owner,
        parent_id,
    )
    if live is not None:
        raise RunLive(live)


async def _insert_prompt(
    connection: Connection, start: RunStart, conversation_id: str, parent_id: str | None
) -> str:
    """Insert the new messages, if there are any; return the id of the one to answer."""
    prompt = start.prompt
    if prompt is None:
        assert parent_id is not None
        await rows.touch(connection, conversation_id, parent_id, start.now_ms)
        return parent_id
    size = 0
    for stored in (*start.earlier, prompt):
        placed = msgspec.structs.replace(
            stored, conversation_id=conversation_id, parent_id=parent_id
        )
        body = _encode(stored.message)
        await rows.insert_message(connection, placed, start.owner, body, start.now_ms)
        parent_id, size = stored.id, size + len(body)
    await rows.add_stored_bytes(connection, start.owner, size)
    await rows.touch(connection, conversation_id, prompt.id, start.now_ms)
    return prompt.id


async def _insert_run(connection: Connection, run: RunRow, start: RunStart) -> None:
    values: list[Any] = [
        run.id,
        run.owner,
        run.conversation_id,
        run.parent_id,
        run.message_id,
        run.model,
        run.created_ms,
        run.holder,
        start.idempotency_key,
        start.fingerprint,
        run.request,
        run.log_version,
    ]
    await connection.execute(
        "INSERT INTO runs (id, owner, conversation_id, parent_id, message_id, model, created_ms,"
        " holder, idempotency_key, fingerprint, request, log_version)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        *values,
    )
    if run.request is not None:
        await rows.add_stored_bytes(connection, run.owner, len(run.request.encode()))

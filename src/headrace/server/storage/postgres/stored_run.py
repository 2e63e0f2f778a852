"""Finds a stored run in PostgreSQL, with its records and messages."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace.errors import InputError
from headrace.server.storage.log import Log
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.tables import rows
from headrace.server.storage.store.row import decode_message
from headrace.server.storage.stored_run import NEWEST, StoredRun, check_id_length

_BEGINS: Final = (
    "SELECT * FROM runs WHERE starts_with(id, $1) OR starts_with(message_id, $1) LIMIT 2"
)
_NEWEST: Final = "SELECT * FROM runs ORDER BY created_ms DESC, id LIMIT $1"


async def find_stored_run(pool: Pool, log: Log, name: str) -> StoredRun:
    """Find a run by its id, its message's id, the beginning of either, or `last`.

    Raises `InputError` if no run matches, or several do.
    """
    row = await _find_row(pool, name)
    branch = await pool.fetch(
        f"{rows.BRANCH} SELECT messages.body FROM messages JOIN up ON messages.id = up.id"
        " ORDER BY up.depth DESC",
        row["parent_id"],
    )
    answer = await pool.fetch("SELECT body FROM messages WHERE id = $1", row["message_id"])
    try:
        return StoredRun(
            id=row["id"],
            message_id=row["message_id"],
            model=row["model"],
            created_ms=row["created_ms"],
            is_live=row["state"] == "live",
            records=await log.read(row["id"]),
            message=decode_message(answer[0]["body"]) if answer else None,
            earlier=[decode_message(message["body"]) for message in branch],
        )
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot decode the stored run: {error}") from None


async def _find_row(pool: Pool, name: str) -> Any:
    if name == NEWEST:
        found = await pool.fetch(_NEWEST, 1)
    else:
        check_id_length(name)
        found = await pool.fetch(_BEGINS, name)
    if len(found) > 1:
        raise InputError("several runs have an id that begins like this: give more of it")
    if not found:
        newest = ", ".join(row["id"] for row in await pool.fetch(_NEWEST, 3))
        told = f"the newest are {newest}" if newest else "it has none"
        raise InputError(f"no such run in the database: {told}")
    return found[0]

"""The inbox of runs in PostgreSQL, and the states that it decides about.

Every change locks the row of the run first. So an answer is either in the inbox before the run is
suspended, and keeps it from being suspended, or finds it suspended and wakes it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace.server.storage.postgres.pool import Connection
from headrace.server.storage.postgres.tables.nodes import ALIVE
from headrace.server.storage.store.inbox import InboxEntry
from headrace.server.storage.store.store import RunRow

INBOX_CHANNEL: Final = "headrace_inbox"
"""Channel of the notifications that tell the server of a run to look at its inbox."""
_decode = msgspec.json.decode
_encode = msgspec.json.Encoder().encode


async def add_entry(connection: Connection, entry: InboxEntry) -> InboxEntry:
    """Insert an entry. Returns the entry that counts: that with the same id, or the first answer to
    the same request."""
    await connection.execute("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", entry.run_id)
    found = await connection.fetchrow(
        "SELECT * FROM inbox WHERE id = $1 OR (run_id = $2 AND request_id = $3)",
        entry.id,
        entry.run_id,
        entry.request_id,
    )
    if found is not None:
        return to_entry(found)
    await connection.execute(
        "INSERT INTO inbox (id, run_id, kind, request_id, body, created_ms)"
        " VALUES ($1, $2, $3, $4, $5, $6)",
        entry.id,
        entry.run_id,
        entry.kind,
        entry.request_id,
        _encode(entry.body),
        entry.created_ms,
    )
    return entry


async def suspend_run(
    connection: Connection, run: RunRow, now_ms: int, expires_ms: int | None, even_with_input: bool
) -> bool:
    """Mark a run as suspended, unless its inbox has entries that can wake it or another server has
    taken it."""
    locked = await connection.fetchrow(
        "SELECT 1 FROM runs WHERE id = $1 AND epoch = $2 AND state = 'live' FOR UPDATE",
        run.id,
        run.epoch,
    )
    if locked is None:
        return False
    if not even_with_input and await _has_input(connection, run.id):
        return False
    await connection.execute(
        "UPDATE runs SET suspended_ms = $2, expires_ms = $3, holder = NULL WHERE id = $1",
        run.id,
        now_ms,
        expires_ms,
    )
    return True


async def _has_input(connection: Connection, run_id: str) -> bool:
    found = await connection.fetchval(
        "SELECT 1 FROM inbox WHERE run_id = $1 AND NOT is_taken"
        " AND kind IN ('answer', 'cancel') LIMIT 1",
        run_id,
    )
    return found is not None


async def claim_run(
    connection: Connection, run: RunRow, node: str, *, even_if_live: bool, can_take_over: bool
) -> int | None:
    """Make a server the holder of a run that is suspended; with `even_if_live`, also of one that it
    has already or that nobody has; with `can_take_over`, also of one whose server is gone.

    Everything that an earlier holder still writes is refused from now on. Returns the new epoch, or
    None if another server has the run.
    """
    claimed = await connection.fetchrow(
        "UPDATE runs SET holder = $2, epoch = epoch + 1, suspended_ms = NULL, expires_ms = NULL"
        " WHERE id = $1 AND state = 'live' AND (suspended_ms IS NOT NULL"
        f" OR ($3 AND (holder = $2 OR holder IS NULL)) OR ($4 AND NOT {ALIVE})) RETURNING epoch",
        run.id,
        node,
        even_if_live,
        can_take_over,
    )
    if claimed is None:
        return None
    await connection.execute(
        "INSERT INTO log_heads (run_id, epoch) VALUES ($1, $2)"
        " ON CONFLICT (run_id) DO UPDATE SET epoch = excluded.epoch",
        run.id,
        claimed["epoch"],
    )
    epoch: int = claimed["epoch"]
    return epoch


def to_entry(row: Any) -> InboxEntry:
    """Return the entry of a row."""
    return InboxEntry(
        id=row["id"],
        run_id=row["run_id"],
        kind=row["kind"],
        request_id=row["request_id"],
        body=_decode(row["body"]),
        created_ms=row["created_ms"],
    )

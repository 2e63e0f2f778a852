"""How many bytes are stored for each user: messages, and the requests and records of their runs.

Triggers keep the sums, so that no operation can forget to.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from headrace.server.storage.sqlite.database import Database


async def read_stored_bytes(database: Database, owner: str) -> int:
    """Return the bytes that are stored for a user."""
    rows = await database.fetch("SELECT bytes FROM stored_bytes WHERE owner = ?", (owner,))
    return int(rows[0][0]) if rows else 0


def create_sums(connection: sqlite3.Connection) -> None:
    """Create the table of sums and its triggers, and count what is stored already."""
    connection.execute(
        "CREATE TABLE stored_bytes (owner TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID"
    )
    connection.execute(
        "INSERT INTO stored_bytes SELECT owner, sum(size) FROM ("
        " SELECT owner, length(body) AS size FROM messages UNION ALL"
        " SELECT owner, length(body) FROM record_chunks JOIN runs ON runs.id = run_id)"
        " GROUP BY owner"
    )
    for table, owner in _OWNERS.items():
        for verb, row, sign in (("INSERT", "NEW", "+"), ("DELETE", "OLD", "-")):
            connection.execute(
                f"CREATE TRIGGER sum_{table}_{verb} AFTER {verb} ON {table} BEGIN"
                f" INSERT INTO stored_bytes SELECT owner, {sign}length({row}.body)"
                f" FROM ({owner.format(row)}) WHERE true"
                " ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes; END"
            )


def count_requests(connection: sqlite3.Connection) -> None:
    """Count what runs keep of their requests too, such as instructions and tools, and what is
    stored already."""
    connection.execute(
        "INSERT INTO stored_bytes SELECT owner, sum(length(CAST(request AS BLOB))) FROM runs"
        " WHERE request IS NOT NULL GROUP BY owner"
        " ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes"
    )
    for verb, row, sign in (("INSERT", "NEW", "+"), ("DELETE", "OLD", "-")):
        connection.execute(
            f"CREATE TRIGGER sum_runs_{verb} AFTER {verb} ON runs WHEN {row}.request IS NOT NULL"
            f" BEGIN INSERT INTO stored_bytes"
            f" VALUES ({row}.owner, {sign}length(CAST({row}.request AS BLOB)))"
            " ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes; END"
        )


_OWNERS: Final = {
    "messages": "SELECT {0}.owner AS owner",
    "record_chunks": "SELECT owner FROM runs WHERE id = {0}.run_id",
}

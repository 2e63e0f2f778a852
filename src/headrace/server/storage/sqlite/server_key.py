"""Keys that the server signs with. They are created once and stored in its database."""

from __future__ import annotations

import secrets
import sqlite3

from headrace.server.storage.sqlite.database import Database

_KEY_BYTES = 32


async def read_server_key(database: Database, name: str) -> bytes:
    """Return the key of this name, which is created when it is first needed."""
    rows = await database.fetch("SELECT value FROM server_keys WHERE name = ?", (name,))
    if rows:
        return bytes(rows[0]["value"])
    created = secrets.token_bytes(_KEY_BYTES)

    def work(connection: sqlite3.Connection) -> bytes:
        # Another request may have created it meanwhile.
        query = "INSERT INTO server_keys VALUES (?, ?) ON CONFLICT DO NOTHING"
        connection.execute(query, (name, created))
        row = connection.execute("SELECT value FROM server_keys WHERE name = ?", (name,)).fetchone()
        return bytes(row["value"])

    return await database.write(work)

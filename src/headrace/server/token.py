"""Tokens: who may use the server. Only their hashes are kept."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3

from headrace.server.database import Database

LOCAL = "local"
"""The owner of everything, where no tokens are asked for."""
_PREFIX = "hr_"


class Tokens:
    """Makes tokens and knows their owners."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, name: str, now_ms: int) -> str:
        """A new token; it is shown this once."""
        token = _PREFIX + secrets.token_urlsafe(32)
        row = (_hashed(token), owner, name, now_ms)
        self._database.write_now(lambda c: c.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", row))
        return token

    async def owner_of(self, token: str) -> str | None:
        """Whose it is; None where it is nobody's."""

        def work(connection: sqlite3.Connection) -> sqlite3.Row | None:
            found: sqlite3.Row | None = connection.execute(
                "SELECT owner FROM tokens WHERE hash = ?", (_hashed(token),)
            ).fetchone()
            return found

        row = await self._database.read(work)
        return None if row is None else str(row["owner"])


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

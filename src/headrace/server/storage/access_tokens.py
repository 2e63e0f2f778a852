"""Tokens: who may use the server. Only their hashes are kept."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3

import msgspec

from headrace.server.storage.database import Database

LOCAL = "local"
"""The owner of everything, where no tokens are asked for."""
_PREFIX = "hr_"


class KnownToken(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a token: all but the token."""

    id: str
    """Made of its hash; to revoke it by."""
    owner: str
    name: str
    created_ms: int


class Tokens:
    """Makes tokens, knows their owners, and revokes them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, name: str, now_ms: int) -> str:
        """A new token; it is shown this once."""
        token = _PREFIX + secrets.token_urlsafe(32)
        row = (_hashed(token), owner, name, now_ms)
        self._database.write_now(lambda c: c.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", row))
        return token

    def all(self) -> list[KnownToken]:
        """All of them, the oldest first."""
        query = "SELECT * FROM tokens ORDER BY created_ms, hash"
        rows = self._database.write_now(lambda c: c.execute(query).fetchall())
        return [
            KnownToken(
                id=_id_of(row["hash"]),
                owner=row["owner"],
                name=row["name"],
                created_ms=row["created_ms"],
            )
            for row in rows
        ]

    def revoke(self, token_id: str) -> bool:
        """Forget a token, from the next request on. False where there is none of that id."""

        def work(connection: sqlite3.Connection) -> bool:
            found = [
                (row["hash"],)
                for row in connection.execute("SELECT hash FROM tokens")
                if _id_of(row["hash"]) == token_id
            ]
            connection.executemany("DELETE FROM tokens WHERE hash = ?", found)
            return bool(found)

        return self._database.write_now(work)

    async def owner_of(self, token: str) -> str | None:
        """Whose it is; None where it is nobody's."""

        def work(connection: sqlite3.Connection) -> sqlite3.Row | None:
            found: sqlite3.Row | None = connection.execute(
                "SELECT owner FROM tokens WHERE hash = ?", (_hashed(token),)
            ).fetchone()
            return found

        row = await self._database.read(work)
        return None if row is None else str(row["owner"])


def _id_of(hashed: bytes) -> str:
    return hashed.hex()[:12]


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

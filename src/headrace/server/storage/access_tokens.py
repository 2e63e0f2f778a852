"""Access tokens: which user a request belongs to. Only hashes of the tokens are stored."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.database import Database

LOCAL = "local"
"""The owner of everything if the server does not require access tokens."""
_PREFIX = "hr_"


class AccessTokenInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored about an access token; never the token itself."""

    id: str
    """Derived from the hash; names the token for `revoke()`."""
    owner: str
    name: str
    created_ms: int


class AccessTokens:
    """Creates, lists, checks and revokes access tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, name: str, now_ms: int) -> str:
        """Create an access token and return it. It cannot be shown again later.

        Raises `UsageError` if the owner or the name is not a single line of printable characters.
        """
        for text in (owner, name):
            if not text.isprintable():
                raise UsageError(
                    f"expected a single line of printable characters; got {text!r:.60}"
                )
        access_token = _PREFIX + secrets.token_urlsafe(32)
        row = (_hash(access_token), owner, name, now_ms)
        self._database.write_now(lambda c: c.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", row))
        return access_token

    def all(self) -> list[AccessTokenInfo]:
        """Return all access tokens, the oldest first."""
        query = "SELECT * FROM tokens ORDER BY created_ms, hash"
        rows = self._database.write_now(lambda c: c.execute(query).fetchall())
        ids = [_id_of(row["hash"]) for row in rows]
        fields = [{**dict(row), "id": id_} for row, id_ in zip(rows, ids, strict=True)]
        return msgspec.convert(fields, list[AccessTokenInfo])

    def revoke(self, token_id: str) -> bool:
        """Revoke an access token from the next request on. Return False if the id is unknown."""

        def work(connection: sqlite3.Connection) -> bool:
            hashes = [
                (row["hash"],)
                for row in connection.execute("SELECT hash FROM tokens")
                if _id_of(row["hash"]) == token_id
            ]
            connection.executemany("DELETE FROM tokens WHERE hash = ?", hashes)
            return bool(hashes)

        return self._database.write_now(work)

    async def owner_of(self, access_token: str) -> str | None:
        """Return the owner of an access token, or None if the token is unknown."""
        query = "SELECT owner FROM tokens WHERE hash = ?"
        rows = await self._database.fetch(query, (_hash(access_token),))
        return str(rows[0]["owner"]) if rows else None


def _id_of(token_hash: bytes) -> str:
    return token_hash.hex()[:12]


def _hash(access_token: str) -> bytes:
    return hashlib.sha256(access_token.encode()).digest()

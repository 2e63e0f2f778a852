"""Access tokens: which user a request belongs to. Only hashes of the tokens are stored."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Collection
from typing import Literal, TypeAlias, get_args

import msgspec

from headrace.errors import UsageError
from headrace.server.storage.sqlite.database import Database

LOCAL = "local"
"""The owner of everything if the server does not require access tokens."""
_PREFIX = "hr_"
Scope: TypeAlias = Literal["chat", "metrics"]
"""What an access token is for: the API and the web UI, or only `/metrics`."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


class User(msgspec.Struct, frozen=True):
    """The user of a request."""

    owner: str
    scope: Scope = "chat"
    token_hash: bytes | None = None
    """Hash of the access token, or None if the server does not require one."""


LOCAL_USER = User(LOCAL)
"""The user of every request if the server does not require access tokens."""


class AccessTokenInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored about an access token; never the token itself."""

    id: str
    """Derived from the hash; names the token for `revoke()`."""
    owner: str
    name: str
    created_ms: int
    scope: Scope = "chat"


class AccessTokens:
    """Creates, lists, checks and revokes access tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, name: str, now_ms: int, scope: Scope = "chat") -> str:
        """Create an access token and return it. It cannot be shown again later.

        Raises `UsageError` if the owner or the name is not a single line of printable characters.
        """
        access_token = create_access_token(owner, name)
        row = (hash_access_token(access_token), owner, name, now_ms, scope)
        query = "INSERT INTO tokens (hash, owner, name, created_ms, scope) VALUES (?, ?, ?, ?, ?)"
        self._database.write_now(lambda c: c.execute(query, row))
        return access_token

    def all(self) -> list[AccessTokenInfo]:
        """Return all access tokens, the oldest first."""
        query = "SELECT * FROM tokens ORDER BY created_ms, hash"
        rows = self._database.write_now(lambda c: c.execute(query).fetchall())
        ids = [token_id_of(row["hash"]) for row in rows]
        fields = [{**dict(row), "id": id_} for row, id_ in zip(rows, ids, strict=True)]
        return msgspec.convert(fields, list[AccessTokenInfo])

    def revoke(self, token_id: str) -> bool:
        """Revoke an access token. Return False if the id is unknown.

        It is refused from the next request on; a running server ends its streams soon.
        """

        def work(connection: sqlite3.Connection) -> bool:
            hashes = [
                (row["hash"],)
                for row in connection.execute("SELECT hash FROM tokens")
                if token_id_of(row["hash"]) == token_id
            ]
            connection.executemany("DELETE FROM tokens WHERE hash = ?", hashes)
            return bool(hashes)

        return self._database.write_now(work)

    async def find_user(self, access_token: str) -> User | None:
        """Return the user of an access token, or None if the token is unknown."""
        query = "SELECT owner, scope FROM tokens WHERE hash = ?"
        token_hash = hash_access_token(access_token)
        rows = await self._database.fetch(query, (token_hash,))
        return User(rows[0]["owner"], rows[0]["scope"], token_hash) if rows else None

    async def find_revoked(self, token_hashes: Collection[bytes]) -> set[bytes]:
        """Return those of these hashes whose access tokens have been revoked."""

        def work(connection: sqlite3.Connection) -> set[bytes]:
            query = "SELECT 1 FROM tokens WHERE hash = ?"
            return {
                one for one in token_hashes if connection.execute(query, (one,)).fetchone() is None
            }

        return await self._database.read(work)


def token_id_of(token_hash: bytes) -> str:
    """Return the id of an access token, which names it without revealing it."""
    return token_hash.hex()[:12]


def create_access_token(owner: str, name: str) -> str:
    """Return a new access token for a user. Raises `UsageError` if the owner or the name of the
    token is not a single line of printable characters."""
    for text in (owner, name):
        if not text.isprintable():
            raise UsageError(f"expected a single line of printable characters; got {text!r:.60}")
    return _PREFIX + secrets.token_urlsafe(32)


def hash_access_token(access_token: str) -> bytes:
    """Return the hash of an access token, which is stored instead of it."""
    return hashlib.sha256(access_token.encode()).digest()

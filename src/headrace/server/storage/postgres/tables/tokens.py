"""Access tokens and keys of the server in PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any

from headrace.server.storage.access_tokens import (
    AccessTokenInfo,
    Scope,
    User,
    create_access_token,
    hash_access_token,
    token_id_of,
)
from headrace.server.storage.postgres.pool import Pool

_KEY_BYTES = 32


class PostgresTokens:
    """Creates, lists, checks and revokes access tokens; see `AccessTokens`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, owner: str, name: str, now_ms: int, scope: Scope = "chat") -> str:
        """Create an access token and return it. It cannot be shown again later.

        Raises `UsageError` if the owner or the name is not a single line of printable characters.
        """
        access_token = create_access_token(owner, name)
        await self._pool.execute(
            "INSERT INTO tokens (hash, owner, name, created_ms, scope) VALUES ($1, $2, $3, $4, $5)",
            hash_access_token(access_token),
            owner,
            name,
            now_ms,
            scope,
        )
        return access_token

    async def all(self) -> list[AccessTokenInfo]:
        """Return all access tokens, the oldest first."""
        found = await self._pool.fetch("SELECT * FROM tokens ORDER BY created_ms, hash")
        return [_to_info(row) for row in found]

    async def revoke(self, token_id: str) -> bool:
        """Revoke an access token. Return False if the id is unknown."""
        hashes = [
            row["hash"]
            for row in await self._pool.fetch("SELECT hash FROM tokens")
            if token_id_of(row["hash"]) == token_id
        ]
        return await self._pool.execute("DELETE FROM tokens WHERE hash = ANY($1)", hashes) > 0

    async def find_user(self, access_token: str) -> User | None:
        """Return the user of an access token, or None if the token is unknown."""
        token_hash = hash_access_token(access_token)
        found = await self._pool.fetch(
            "SELECT owner, scope FROM tokens WHERE hash = $1", token_hash
        )
        return User(found[0]["owner"], found[0]["scope"], token_hash) if found else None

    async def find_revoked(self, token_hashes: Collection[bytes]) -> set[bytes]:
        """Return those of these hashes whose access tokens have been revoked."""
        found = await self._pool.fetch(
            "SELECT hash FROM tokens WHERE hash = ANY($1)", list(token_hashes)
        )
        return set(token_hashes) - {row["hash"] for row in found}


def _to_info(row: Any) -> AccessTokenInfo:
    return AccessTokenInfo(
        id=token_id_of(row["hash"]),
        owner=row["owner"],
        name=row["name"],
        created_ms=row["created_ms"],
        scope=row["scope"],
    )


async def read_server_key(pool: Pool, name: str) -> bytes:
    """Return the key of this name, which is created when it is first needed."""
    await pool.execute(
        "INSERT INTO server_keys VALUES ($1, $2) ON CONFLICT DO NOTHING",
        name,
        secrets.token_bytes(_KEY_BYTES),
    )
    found = await pool.fetch("SELECT value FROM server_keys WHERE name = $1", name)
    return bytes(found[0]["value"])

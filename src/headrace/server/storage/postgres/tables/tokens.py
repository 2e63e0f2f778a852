"""Access tokens and keys of the server in PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

from headrace.server.storage.access_tokens import (
    USE_INTERVAL_MS,
    AccessTokenInfo,
    Scope,
    User,
    create_access_token,
    create_quota,
    decode_quota,
    encode_quota,
    hash_access_token,
    token_id_of,
)
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.postgres.pool import Connection, Pool
from headrace.server.storage.usage.limits import QUOTA_KEYS, UsageLimits

_IS_VALID: Final = (
    "(expires_ms IS NULL OR expires_ms > $2) AND NOT EXISTS"
    " (SELECT 1 FROM users WHERE users.name = tokens.owner AND is_disabled)"
)
_INSERT: Final = (
    "INSERT INTO tokens (hash, owner, name, created_ms, scope, expires_ms, quota)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"
)
_KEY_BYTES = 32


class PostgresTokens:
    """Creates, lists, checks and revokes access tokens; see `AccessTokens`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(
        self,
        owner: str,
        name: str,
        now_ms: int,
        scope: Scope = "chat",
        expires_ms: int | None = None,
        limits: UsageLimits | None = None,
    ) -> str:
        """Create an access token and return it. It cannot be shown again later.

        Raises `UsageError` if the owner or the name is not a single line of printable characters.
        """
        access_token = create_access_token(owner, name)
        token_hash = hash_access_token(access_token)
        quota = encode_quota(create_quota(token_hash, limits))
        values = (token_hash, owner, name, now_ms, scope, expires_ms, quota)
        await self._pool.execute(_INSERT, *values)
        return access_token

    async def rotate(self, token_id: str, now_ms: int, *, grace_ms: int) -> str | None:
        """Replace an access token by a new one for the same user and purpose, and return that. The
        old one ends after a grace time; limits are counted for both together. Returns None if the
        id is unknown."""
        async with self._pool.transaction() as connection:
            rows = await connection.fetch("SELECT * FROM tokens FOR UPDATE")
            found = [row for row in rows if token_id_of(row["hash"]) == token_id]
            if not found:
                return None
            old = to_token_info(found[0])
            new = create_access_token(old.owner, old.name)
            end_ms = old.find_successor_end(now_ms)
            quota = encode_quota(old.quota)
            values = (old.owner, old.name, now_ms, old.scope, end_ms, quota)
            await connection.execute(_INSERT, hash_access_token(new), *values)
            await connection.execute(
                "UPDATE tokens SET expires_ms = $2 WHERE hash = $1",
                found[0]["hash"],
                old.find_end(now_ms + grace_ms),
            )
        return new

    async def all(self) -> list[AccessTokenInfo]:
        """Return all access tokens, the oldest first."""
        found = await self._pool.fetch("SELECT * FROM tokens ORDER BY created_ms, hash")
        return [to_token_info(row) for row in found]

    async def revoke(self, token_id: str) -> bool:
        """Revoke an access token. Return False if the id is unknown."""
        async with self._pool.transaction() as connection:
            rows = await connection.fetch("SELECT hash FROM tokens")
            hashes = [row["hash"] for row in rows if token_id_of(row["hash"]) == token_id]
            await connection.execute("DELETE FROM tokens WHERE hash = ANY($1)", hashes)
            await delete_unused_quotas(connection)
        return bool(hashes)

    async def find_user(self, access_token: str, now_ms: int) -> User | None:
        """Return the user of an access token, or None if the token is unknown or has expired, or
        if the user's account is disabled. Notes when the token was used."""
        token_hash = hash_access_token(access_token)
        query = (
            f"SELECT owner, scope, last_used_ms, quota FROM tokens WHERE hash = $1 AND {_IS_VALID}"
        )
        found = await self._pool.fetch(query, token_hash, now_ms)
        if not found:
            return None
        if now_ms - (found[0]["last_used_ms"] or 0) >= USE_INTERVAL_MS:
            update = "UPDATE tokens SET last_used_ms = $2 WHERE hash = $1"
            # A database that accepts no writes must not keep anybody from reading.
            with suppress(StorageFailed):
                await self._pool.execute(update, token_hash, now_ms)
        owner, scope, _, quota = found[0]
        return User(owner, scope, token_hash, "token", quota=decode_quota(quota))

    async def find_revoked(self, token_hashes: Collection[bytes], now_ms: int) -> set[bytes]:
        """Return those of these hashes whose access tokens are not valid any more."""
        query = f"SELECT hash FROM tokens WHERE hash = ANY($1) AND {_IS_VALID}"
        found = await self._pool.fetch(query, list(token_hashes), now_ms)
        return set(token_hashes) - {row["hash"] for row in found}


def to_token_info(row: Any) -> AccessTokenInfo:
    """Return what a row of the table says."""
    return AccessTokenInfo(
        id=token_id_of(row["hash"]),
        owner=row["owner"],
        name=row["name"],
        created_ms=row["created_ms"],
        scope=row["scope"],
        expires_ms=row["expires_ms"],
        last_used_ms=row["last_used_ms"],
        quota=decode_quota(row["quota"]),
    )


async def delete_unused_quotas(connection: Connection) -> None:
    """Delete what was counted for access tokens that do not exist any more."""
    rows = await connection.fetch("SELECT quota FROM tokens WHERE quota IS NOT NULL")
    quotas = [decode_quota(row["quota"]) for row in rows]
    await connection.execute(
        'DELETE FROM usage_windows WHERE owner COLLATE "C" >= $1 AND owner COLLATE "C" < $2'
        " AND owner <> ALL($3)",
        *QUOTA_KEYS,
        [quota.key for quota in quotas if quota is not None],
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

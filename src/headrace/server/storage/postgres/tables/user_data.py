"""Everything about a user in PostgreSQL."""

from __future__ import annotations

from typing import Any, Final

from headrace.server.storage.access_tokens import AccessTokenInfo
from headrace.server.storage.accounts.account import DELETED_USER
from headrace.server.storage.accounts.user_data import OldConversation, UserDeletion
from headrace.server.storage.postgres.pool import Connection, Pool
from headrace.server.storage.postgres.tables.tokens import delete_unused_quotas, to_token_info

_OWNED: Final = (
    *("conversations", "tokens", "sign_ins", "user_settings", "usage_rows", "stored_bytes"),
    *("files", "user_deletions"),
)


class PostgresUserData:
    """Everything about a user in PostgreSQL; see `UserData`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def request_deletion(self, owner: str, now_ms: int) -> bool:
        async with self._pool.transaction() as connection:
            if not await _is_known(connection, owner):
                return False
            for table in ("sign_ins", "tokens", "user_settings"):
                await connection.execute(f"DELETE FROM {table} WHERE owner = $1", owner)
            await connection.execute("DELETE FROM users WHERE name = $1", owner)
            await connection.execute(
                "INSERT INTO user_deletions (owner, requested_ms) VALUES ($1, $2)"
                " ON CONFLICT DO NOTHING",
                owner,
                now_ms,
            )
        return True

    async def requested_deletions(self) -> list[UserDeletion]:
        query = "SELECT owner, is_emptied FROM user_deletions ORDER BY requested_ms"
        found = await self._pool.fetch(query)
        return [UserDeletion(row["owner"], row["is_emptied"]) for row in found]

    async def finish_deletion(self, owner: str, before_ms: int) -> bool:
        async with self._pool.transaction() as connection:
            query = "SELECT 1 FROM conversations WHERE owner = $1"
            if await connection.fetchval(query, owner) is not None:
                return False
            await connection.execute(
                "UPDATE usage_rows SET owner = $2 WHERE owner = $1", owner, DELETED_USER
            )
            for table in ("usage_windows", "stored_bytes", "user_settings"):
                await connection.execute(f"DELETE FROM {table} WHERE owner = $1", owner)
            await delete_unused_quotas(connection)
            await connection.execute(
                "UPDATE user_deletions SET is_emptied = true WHERE owner = $1 AND NOT is_emptied",
                owner,
            )
            await connection.execute(
                "DELETE FROM user_deletions WHERE owner = $1 AND requested_ms < $2",
                owner,
                before_ms,
            )
        return True

    async def abandon_runs(self, owner: str) -> None:
        await self._pool.execute(
            "UPDATE runs SET state = 'closed', suspended_ms = NULL, expires_ms = NULL,"
            " closed_ms = created_ms WHERE owner = $1 AND state = 'live'",
            owner,
        )

    async def delete_settings(self, owner: str) -> None:
        await self._pool.execute("DELETE FROM user_settings WHERE owner = $1", owner)

    async def old_conversations(self, before_ms: int, limit: int) -> list[OldConversation]:
        found = await self._pool.fetch(
            "SELECT owner, id FROM conversations WHERE deleted_ms IS NULL AND updated_ms < $1"
            " AND NOT EXISTS (SELECT 1 FROM runs WHERE conversation_id = conversations.id"
            " AND state = 'live' AND suspended_ms IS NULL) ORDER BY updated_ms LIMIT $2",
            before_ms,
            limit,
        )
        return [OldConversation(row["owner"], row["id"]) for row in found]

    async def access_tokens(self, owner: str) -> list[AccessTokenInfo]:
        query = "SELECT * FROM tokens WHERE owner = $1 ORDER BY created_ms, hash"
        return [to_token_info(row) for row in await self._pool.fetch(query, owner)]

    async def usage(self, owner: str) -> list[dict[str, Any]]:
        query = "SELECT * FROM usage_rows WHERE owner = $1 ORDER BY ended_ms, id"
        return [dict(row) for row in await self._pool.fetch(query, owner)]


async def _is_known(connection: Connection, owner: str) -> bool:
    queries = [
        "SELECT 1 FROM users WHERE name = $1",
        *(f"SELECT 1 FROM {table} WHERE owner = $1 LIMIT 1" for table in _OWNED),
    ]
    for query in queries:
        if await connection.fetchval(query, owner) is not None:
            return True
    return False

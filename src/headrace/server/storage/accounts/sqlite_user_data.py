"""Everything about a user in SQLite."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from headrace.server.storage.access_tokens import (
    AccessTokenInfo,
    delete_unused_quotas,
    to_token_info,
)
from headrace.server.storage.accounts.account import DELETED_USER
from headrace.server.storage.accounts.user_data import OldConversation, UserDeletion
from headrace.server.storage.sqlite.database import Database

_OWNED: Final = (
    *("conversations", "tokens", "sign_ins", "user_settings", "usage_rows", "stored_bytes"),
    "user_deletions",
)


class SQLiteUserData:
    """Everything about a user in SQLite; see `UserData`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def request_deletion(self, owner: str, now_ms: int) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if not _is_known(connection, owner):
                return False
            for table in ("sign_ins", "tokens", "user_settings"):
                connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
            connection.execute("DELETE FROM users WHERE name = ?", (owner,))
            connection.execute(
                "INSERT INTO user_deletions (owner, requested_ms) VALUES (?, ?)"
                " ON CONFLICT DO NOTHING",
                (owner, now_ms),
            )
            return True

        return await self._database.write(work)

    async def requested_deletions(self) -> list[UserDeletion]:
        query = "SELECT owner, is_emptied FROM user_deletions ORDER BY requested_ms"
        rows = await self._database.fetch(query)
        return [UserDeletion(row["owner"], bool(row["is_emptied"])) for row in rows]

    async def finish_deletion(self, owner: str, before_ms: int) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            query = "SELECT 1 FROM conversations WHERE owner = ?"
            if connection.execute(query, (owner,)).fetchone() is not None:
                return False
            connection.execute(
                "UPDATE usage_rows SET owner = ? WHERE owner = ?", (DELETED_USER, owner)
            )
            for table in ("usage_windows", "stored_bytes", "user_settings"):
                connection.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))
            delete_unused_quotas(connection)
            connection.execute(
                "UPDATE user_deletions SET is_emptied = 1 WHERE owner = ? AND NOT is_emptied",
                (owner,),
            )
            connection.execute(
                "DELETE FROM user_deletions WHERE owner = ? AND requested_ms < ?",
                (owner, before_ms),
            )
            return True

        is_done = await self._database.write(work)
        self._database.has_deleted = True
        return is_done

    async def abandon_runs(self, owner: str) -> None:
        query = (
            "UPDATE runs SET state = 'closed', suspended_ms = NULL, expires_ms = NULL,"
            " closed_ms = created_ms WHERE owner = ? AND state = 'live'"
        )
        await self._database.write(lambda connection: connection.execute(query, (owner,)))

    async def delete_settings(self, owner: str) -> None:
        query = "DELETE FROM user_settings WHERE owner = ?"
        await self._database.write(lambda connection: connection.execute(query, (owner,)))
        self._database.has_deleted = True

    async def old_conversations(self, before_ms: int, limit: int) -> list[OldConversation]:
        query = (
            "SELECT owner, id FROM conversations WHERE deleted_ms IS NULL AND updated_ms < ?"
            " AND NOT EXISTS (SELECT 1 FROM runs WHERE conversation_id = conversations.id"
            " AND state = 'live' AND suspended_ms IS NULL) ORDER BY updated_ms LIMIT ?"
        )
        rows = await self._database.fetch(query, (before_ms, limit))
        return [OldConversation(row["owner"], row["id"]) for row in rows]

    async def access_tokens(self, owner: str) -> list[AccessTokenInfo]:
        query = "SELECT * FROM tokens WHERE owner = ? ORDER BY created_ms, hash"
        return [to_token_info(row) for row in await self._database.fetch(query, (owner,))]

    async def usage(self, owner: str) -> list[dict[str, Any]]:
        query = "SELECT * FROM usage_rows WHERE owner = ? ORDER BY ended_ms"
        return [dict(row) for row in await self._database.fetch(query, (owner,))]


def _is_known(connection: sqlite3.Connection, owner: str) -> bool:
    queries = [
        "SELECT 1 FROM users WHERE name = ?",
        *(f"SELECT 1 FROM {table} WHERE owner = ?" for table in _OWNED),
    ]
    return any(connection.execute(query, (owner,)).fetchone() for query in queries)

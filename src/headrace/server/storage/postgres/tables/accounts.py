"""Accounts, sign-ins and settings in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from headrace.server.storage.access_tokens import Role
from headrace.server.storage.accounts.account import (
    MAX_SIGN_INS,
    Account,
    SignIn,
    SignInInfo,
    clean_client,
    merge_settings,
    sign_in_id_of,
)
from headrace.server.storage.postgres.pool import Pool, count_rows


class PostgresAccounts:
    """Accounts in PostgreSQL; see `Accounts`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, name: str, role: Role, password_hash: str, now_ms: int) -> bool:
        query = (
            "INSERT INTO users (name, role, password_hash, created_ms)"
            " SELECT $1, $2, $3, $4::bigint"
            " WHERE NOT EXISTS (SELECT 1 FROM user_deletions WHERE owner = $1)"
            " ON CONFLICT DO NOTHING"
        )
        return await self._pool.execute(query, name, role, password_hash, now_ms) > 0

    async def all(self) -> list[Account]:
        found = await self._pool.fetch('SELECT * FROM users ORDER BY name COLLATE "C"')
        return [_to_account(row) for row in found]

    async def find(self, name: str) -> Account | None:
        found = await self._pool.fetch("SELECT * FROM users WHERE name = $1", name)
        return _to_account(found[0]) if found else None

    async def set_disabled(self, name: str, is_disabled: bool) -> bool:
        async with self._pool.transaction() as connection:
            status = await connection.execute(
                "UPDATE users SET is_disabled = $2 WHERE name = $1", name, is_disabled
            )
            if is_disabled:
                await connection.execute("DELETE FROM sign_ins WHERE owner = $1", name)
        return count_rows(status) > 0

    async def set_password(
        self,
        name: str,
        password_hash: str,
        kept_sign_in: bytes | None = None,
        *,
        old_hash: str | None = None,
    ) -> bool:
        async with self._pool.transaction() as connection:
            status = await connection.execute(
                "UPDATE users SET password_hash = $2 WHERE name = $1"
                " AND password_hash = coalesce($3, password_hash)",
                name,
                password_hash,
                old_hash,
            )
            if count_rows(status) == 0:
                return False
            await connection.execute(
                "DELETE FROM sign_ins WHERE owner = $1 AND hash IS DISTINCT FROM $2",
                name,
                kept_sign_in,
            )
        return True

    async def update_password_hash(self, name: str, old_hash: str, new_hash: str) -> bool:
        query = "UPDATE users SET password_hash = $3 WHERE name = $1 AND password_hash = $2"
        return await self._pool.execute(query, name, old_hash, new_hash) > 0

    async def find_disabled(self, names: Collection[str]) -> set[str]:
        query = "SELECT name FROM users WHERE name = ANY($1) AND is_disabled"
        return {row["name"] for row in await self._pool.fetch(query, list(names))}

    async def add_sign_in(
        self, sign_in_hash: bytes, account: Account, client: str, now_ms: int
    ) -> bool:
        async with self._pool.transaction() as connection:
            # The lock keeps the password and the state of the account until the sign-in is stored.
            status = await connection.execute(
                "INSERT INTO sign_ins (hash, owner, created_ms, last_used_ms, client)"
                " SELECT $1, name, $4, $4, $5 FROM users"
                " WHERE name = $2 AND password_hash = $3 AND NOT is_disabled FOR SHARE",
                sign_in_hash,
                account.name,
                account.password_hash,
                now_ms,
                clean_client(client),
            )
            if count_rows(status) == 0:
                return False
            await connection.execute(
                "DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE owner = $1"
                " AND hash <> $2 ORDER BY last_used_ms DESC, hash OFFSET $3)",
                account.name,
                sign_in_hash,
                MAX_SIGN_INS - 1,
            )
        return True

    async def find_sign_in(self, sign_in_hash: bytes) -> SignIn | None:
        found = await self._pool.fetch(
            "SELECT owner, role, sign_ins.created_ms, last_used_ms FROM sign_ins"
            " JOIN users ON name = owner WHERE hash = $1 AND NOT is_disabled",
            sign_in_hash,
        )
        return msgspec.convert(dict(found[0]), SignIn) if found else None

    async def use_sign_in(self, sign_in_hash: bytes, now_ms: int) -> None:
        query = "UPDATE sign_ins SET last_used_ms = $2 WHERE hash = $1"
        await self._pool.execute(query, sign_in_hash, now_ms)

    async def sign_ins(self, owner: str) -> list[SignInInfo]:
        query = "SELECT * FROM sign_ins WHERE owner = $1 ORDER BY created_ms DESC, hash"
        return [_to_info(row) for row in await self._pool.fetch(query, owner)]

    async def end_sign_in(self, owner: str, sign_in_id: str) -> bool:
        hashes = [
            row["hash"]
            for row in await self._pool.fetch("SELECT hash FROM sign_ins WHERE owner = $1", owner)
            if sign_in_id_of(row["hash"]) == sign_in_id
        ]
        return await self._pool.execute("DELETE FROM sign_ins WHERE hash = ANY($1)", hashes) > 0

    async def expire_sign_ins(self, created_ms: int, last_used_ms: int) -> int:
        query = "DELETE FROM sign_ins WHERE created_ms < $1 OR last_used_ms < $2"
        return await self._pool.execute(query, created_ms, last_used_ms)

    async def find_ended(self, sign_in_hashes: Collection[bytes]) -> set[bytes]:
        found = await self._pool.fetch(
            "SELECT hash FROM sign_ins JOIN users ON name = owner"
            " WHERE hash = ANY($1) AND NOT is_disabled",
            list(sign_in_hashes),
        )
        return set(sign_in_hashes) - {row["hash"] for row in found}

    async def settings(self, owner: str) -> dict[str, Any]:
        found = await self._pool.fetch("SELECT body FROM user_settings WHERE owner = $1", owner)
        return msgspec.json.decode(found[0]["body"], type=dict[str, Any]) if found else {}

    async def change_settings(self, owner: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        async with self._pool.transaction() as connection:
            await connection.execute(
                "INSERT INTO user_settings (owner, body) VALUES ($1, '{}') ON CONFLICT DO NOTHING",
                owner,
            )
            body = await connection.fetchval(
                "SELECT body FROM user_settings WHERE owner = $1 FOR UPDATE", owner
            )
            merged = merge_settings(msgspec.json.decode(body, type=dict[str, Any]), changes)
            await connection.execute(
                "UPDATE user_settings SET body = $2 WHERE owner = $1",
                owner,
                msgspec.json.encode(merged).decode(),
            )
        return merged


def _to_account(row: Any) -> Account:
    return msgspec.convert(dict(row), Account)


def _to_info(row: Any) -> SignInInfo:
    return SignInInfo(
        id=sign_in_id_of(row["hash"]),
        created_ms=row["created_ms"],
        last_used_ms=row["last_used_ms"],
        client=row["client"],
    )

"""Accounts, sign-ins and settings in SQLite."""

from __future__ import annotations

import sqlite3
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
from headrace.server.storage.sqlite.database import Database


class SQLiteAccounts:
    """Accounts in SQLite; see `Accounts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, role: Role, password_hash: str, now_ms: int) -> bool:
        query = (
            "INSERT INTO users (name, role, password_hash, created_ms) SELECT ?, ?, ?, ?"
            " WHERE NOT EXISTS (SELECT 1 FROM user_deletions WHERE owner = ?)"
            " ON CONFLICT DO NOTHING"
        )
        return await self._change(query, (name, role, password_hash, now_ms, name)) > 0

    async def all(self) -> list[Account]:
        rows = await self._database.fetch("SELECT * FROM users ORDER BY name")
        return [_to_account(row) for row in rows]

    async def find(self, name: str) -> Account | None:
        rows = await self._database.fetch("SELECT * FROM users WHERE name = ?", (name,))
        return _to_account(rows[0]) if rows else None

    async def set_disabled(self, name: str, is_disabled: bool) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            query = "UPDATE users SET is_disabled = ? WHERE name = ?"
            is_found = connection.execute(query, (is_disabled, name)).rowcount > 0
            if is_disabled:
                connection.execute("DELETE FROM sign_ins WHERE owner = ?", (name,))
            return is_found

        return await self._database.write(work)

    async def set_password(
        self,
        name: str,
        password_hash: str,
        kept_sign_in: bytes | None = None,
        *,
        old_hash: str | None = None,
    ) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            query = (
                "UPDATE users SET password_hash = ? WHERE name = ?"
                " AND password_hash = coalesce(?, password_hash)"
            )
            values = (password_hash, name, old_hash)
            if connection.execute(query, values).rowcount == 0:
                return False
            connection.execute(
                "DELETE FROM sign_ins WHERE owner = ? AND hash IS NOT ?", (name, kept_sign_in)
            )
            return True

        return await self._database.write(work)

    async def update_password_hash(self, name: str, old_hash: str, new_hash: str) -> bool:
        query = "UPDATE users SET password_hash = ? WHERE name = ? AND password_hash = ?"
        return await self._change(query, (new_hash, name, old_hash)) > 0

    async def find_disabled(self, names: Collection[str]) -> set[str]:
        def work(connection: sqlite3.Connection) -> set[str]:
            query = "SELECT 1 FROM users WHERE name = ? AND is_disabled"
            return {one for one in names if connection.execute(query, (one,)).fetchone()}

        return await self._database.read(work)

    async def add_sign_in(
        self, sign_in_hash: bytes, account: Account, client: str, now_ms: int
    ) -> bool:
        query = (
            "INSERT INTO sign_ins (hash, owner, created_ms, last_used_ms, client)"
            " SELECT ?, name, ?, ?, ? FROM users"
            " WHERE name = ? AND password_hash = ? AND NOT is_disabled"
        )
        values = (
            sign_in_hash,
            now_ms,
            now_ms,
            clean_client(client),
            account.name,
            account.password_hash,
        )

        def work(connection: sqlite3.Connection) -> bool:
            if connection.execute(query, values).rowcount == 0:
                return False
            connection.execute(
                "DELETE FROM sign_ins WHERE hash IN (SELECT hash FROM sign_ins WHERE owner = ?"
                " AND hash <> ? ORDER BY last_used_ms DESC, hash LIMIT -1 OFFSET ?)",
                (account.name, sign_in_hash, MAX_SIGN_INS - 1),
            )
            return True

        return await self._database.write(work)

    async def find_sign_in(self, sign_in_hash: bytes) -> SignIn | None:
        query = (
            "SELECT owner, role, sign_ins.created_ms, last_used_ms FROM sign_ins"
            " JOIN users ON name = owner WHERE hash = ? AND NOT is_disabled"
        )
        rows = await self._database.fetch(query, (sign_in_hash,))
        return msgspec.convert(dict(rows[0]), SignIn) if rows else None

    async def use_sign_in(self, sign_in_hash: bytes, now_ms: int) -> None:
        query = "UPDATE sign_ins SET last_used_ms = ? WHERE hash = ?"
        await self._change(query, (now_ms, sign_in_hash))

    async def sign_ins(self, owner: str) -> list[SignInInfo]:
        query = "SELECT * FROM sign_ins WHERE owner = ? ORDER BY created_ms DESC, hash"
        rows = await self._database.fetch(query, (owner,))
        return [_to_info(row) for row in rows]

    async def end_sign_in(self, owner: str, sign_in_id: str) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            query = "SELECT hash FROM sign_ins WHERE owner = ?"
            hashes = [
                (row["hash"],)
                for row in connection.execute(query, (owner,))
                if sign_in_id_of(row["hash"]) == sign_in_id
            ]
            connection.executemany("DELETE FROM sign_ins WHERE hash = ?", hashes)
            return bool(hashes)

        return await self._database.write(work)

    async def expire_sign_ins(self, created_ms: int, last_used_ms: int) -> int:
        query = "DELETE FROM sign_ins WHERE created_ms < ? OR last_used_ms < ?"
        return await self._change(query, (created_ms, last_used_ms))

    async def find_ended(self, sign_in_hashes: Collection[bytes]) -> set[bytes]:
        def work(connection: sqlite3.Connection) -> set[bytes]:
            query = (
                "SELECT 1 FROM sign_ins JOIN users ON name = owner"
                " WHERE hash = ? AND NOT is_disabled"
            )
            return {
                one
                for one in sign_in_hashes
                if connection.execute(query, (one,)).fetchone() is None
            }

        return await self._database.read(work)

    async def settings(self, owner: str) -> dict[str, Any]:
        return await self._database.read(lambda connection: _read_settings(connection, owner))

    async def change_settings(self, owner: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        def work(connection: sqlite3.Connection) -> dict[str, Any]:
            merged = merge_settings(_read_settings(connection, owner), changes)
            connection.execute(
                "INSERT INTO user_settings (owner, body) VALUES (?, ?)"
                " ON CONFLICT (owner) DO UPDATE SET body = excluded.body",
                (owner, msgspec.json.encode(merged).decode()),
            )
            return merged

        return await self._database.write(work)

    async def _change(self, query: str, values: tuple[Any, ...]) -> int:
        """Execute a statement; return how many rows it has changed."""
        return await self._database.write(lambda c: c.execute(query, values).rowcount)


def _read_settings(connection: sqlite3.Connection, owner: str) -> dict[str, Any]:
    query = "SELECT body FROM user_settings WHERE owner = ?"
    row = connection.execute(query, (owner,)).fetchone()
    return {} if row is None else msgspec.json.decode(row["body"], type=dict[str, Any])


def _to_account(row: sqlite3.Row) -> Account:
    return msgspec.convert({**dict(row), "is_disabled": bool(row["is_disabled"])}, Account)


def _to_info(row: sqlite3.Row) -> SignInInfo:
    return SignInInfo(
        id=sign_in_id_of(row["hash"]),
        created_ms=row["created_ms"],
        last_used_ms=row["last_used_ms"],
        client=row["client"],
    )

"""Opens the accounts and the data of users in a data folder or a database, for commands."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from headrace.cli.option import data_folder
from headrace.cli.store_option import call_store, find_store

if TYPE_CHECKING:
    from headrace.server.accounts.user_deletion import UserStorage
    from headrace.server.storage.accounts import Accounts
    from headrace.server.storage.postgres.pool import Pool

T = TypeVar("T")


def call_accounts(options: Namespace, work: Callable[[Accounts], Awaitable[T]]) -> T:
    """Open the accounts that `--data` or `--store` names, do some work, and close them. Creates or
    updates the tables."""
    return call_user_storage(options, lambda storage: work(storage.accounts))


def call_user_storage(options: Namespace, work: Callable[[UserStorage], Awaitable[T]]) -> T:
    """Open everything that is stored of users, beside a server that may run, do some work, and
    close it. Creates or updates the tables."""
    store = find_store(options.store)
    if store is None:
        return _call_folder(options, work)

    async def open_storage(pool: Pool) -> T:
        from headrace.server.accounts.user_deletion import UserStorage
        from headrace.server.storage.postgres.files import PostgresFiles
        from headrace.server.storage.postgres.store import PostgresStore
        from headrace.server.storage.postgres.tables.accounts import PostgresAccounts
        from headrace.server.storage.postgres.tables.user_data import PostgresUserData

        return await work(
            UserStorage(
                PostgresStore(pool, "command"),
                PostgresFiles(pool),
                PostgresAccounts(pool),
                PostgresUserData(pool),
            )
        )

    return call_store(store, open_storage)


def _call_folder(options: Namespace, work: Callable[[UserStorage], Awaitable[T]]) -> T:
    from headrace.server.accounts.user_deletion import UserStorage
    from headrace.server.storage.accounts import SQLiteAccounts
    from headrace.server.storage.accounts.sqlite_user_data import SQLiteUserData
    from headrace.server.storage.files import FolderFiles
    from headrace.server.storage.sqlite.database import Database
    from headrace.server.storage.store import SQLiteStore

    folder = data_folder(options.data)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(folder / "headrace.db")

    async def call() -> T:
        return await work(
            UserStorage(
                SQLiteStore(database),
                FolderFiles(folder / "files"),
                SQLiteAccounts(database),
                SQLiteUserData(database),
            )
        )

    try:
        return asyncio.run(call())
    finally:
        database.close()

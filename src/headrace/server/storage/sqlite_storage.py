"""The default storage: a SQLite file in a folder that one server has for itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from headrace.server.storage.access_tokens import AccessTokens
from headrace.server.storage.accounts import Accounts, SQLiteAccounts
from headrace.server.storage.accounts.sqlite_user_data import SQLiteUserData
from headrace.server.storage.accounts.user_data import UserData
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.data_folder import DataFolder
from headrace.server.storage.files import Files, FolderFiles
from headrace.server.storage.log import Log, SQLiteLog
from headrace.server.storage.sqlite.clock_check import ClockCheck
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.database_file import enable_shrinking
from headrace.server.storage.sqlite.server_key import read_server_key
from headrace.server.storage.storage import Metric, TokenCheck, UsageCount, write_metrics
from headrace.server.storage.store import SQLiteStore, Store
from headrace.server.storage.upkeep.health import Health, check_after_kill
from headrace.server.storage.upkeep.housekeeping import Housekeeping
from headrace.server.storage.usage.stored_bytes import read_stored_bytes
from headrace.server.storage.usage.usage_table import UsageTable


class SQLiteStorage:
    """Everything in one file; see `Storage`. `log` and `store` replace the parts in SQLite.

    Raises `UsageError` if another server uses the folder, or if the file cannot be used.
    """

    def __init__(
        self,
        data: Path,
        clock: Callable[[], int],
        *,
        is_durable: bool = False,
        address: str = "",
        log: Log | None = None,
        store: Store | None = None,
    ) -> None:
        self._folder = DataFolder(data, address=address)
        enable_shrinking(self._folder.database)
        self.database = Database(self._folder.database, is_durable=is_durable)
        if self._folder.was_killed:
            check_after_kill(self.database)
        sqlite_store = SQLiteStore(self.database)
        self.store: Store = store or sqlite_store
        self.log: Log = log or SQLiteLog(self.database)
        self.access_tokens: TokenCheck = AccessTokens(self.database)
        self.accounts: Accounts = SQLiteAccounts(self.database)
        self.user_data: UserData = SQLiteUserData(self.database)
        self.usage: UsageCount = UsageTable(self.database)
        self.files: Files = FolderFiles(self._folder.path / "files")
        self.cluster: Cluster | None = None
        self._health = Health(self._folder, self.database, clock)
        self._clock_check = ClockCheck(self.database)
        self._housekeeping = Housekeeping(self.database)

    async def open(self) -> None:
        """Do nothing: the file is open already."""

    async def close(self) -> None:
        self.database.close()
        self._folder.close()

    def close_now(self) -> None:
        self.database.close()

    async def find_problem(self) -> str:
        return await self._health.find_problem()

    async def is_clock_trusted(self, now_ms: int) -> bool:
        return await self._clock_check.is_trusted(now_ms)

    async def clean_up(self) -> None:
        await self._housekeeping.run()

    async def stored_bytes(self, owner: str) -> int:
        return await read_stored_bytes(self.database, owner)

    async def server_key(self, name: str) -> bytes:
        return await read_server_key(self.database, name)

    def metrics(self) -> Sequence[Metric]:
        path = self.database.path
        wal = path.with_name(path.name + "-wal")
        commits = self.database.commits
        metrics = [
            *write_metrics(self.database.waiting_writes, self.database.write_lag_s),
            Metric("commits_total", "counter", "Transactions written.", commits),
            Metric("database_bytes", "gauge", "Size of the database file.", _size(path)),
            Metric(
                "wal_bytes", "gauge", "Size of the write-ahead log of the database.", _size(wal)
            ),
        ]
        with suppress(OSError):
            free = shutil.disk_usage(path.parent).free
            metrics.append(
                Metric("disk_free_bytes", "gauge", "Free space for the data folder.", free)
            )
        return metrics


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0

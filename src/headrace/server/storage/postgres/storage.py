"""Everything in one PostgreSQL database, which several servers can share."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from headrace.log import get_logger
from headrace.server.storage.accounts import Accounts
from headrace.server.storage.accounts.user_data import UserData
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.files import Files
from headrace.server.storage.lease import LEASE_S
from headrace.server.storage.log import Log
from headrace.server.storage.postgres.cluster import PostgresCluster
from headrace.server.storage.postgres.files import PostgresFiles
from headrace.server.storage.postgres.log import PostgresLog
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import check_version, migrate
from headrace.server.storage.postgres.store import PostgresStore
from headrace.server.storage.postgres.tables.accounts import PostgresAccounts
from headrace.server.storage.postgres.tables.deletion import finish_deletions
from headrace.server.storage.postgres.tables.log_kind import check_log_kind
from headrace.server.storage.postgres.tables.tokens import PostgresTokens, read_server_key
from headrace.server.storage.postgres.tables.usage import PostgresUsage
from headrace.server.storage.postgres.tables.user_data import PostgresUserData
from headrace.server.storage.storage import Metric, TokenCheck, UsageCount, write_metrics
from headrace.server.storage.store import Store

if TYPE_CHECKING:
    from headrace.server.storage.valkey.log import ValkeyLog

_CHECK_S: Final = 1.0
_WRITE_S: Final = 5.0
_CLEAN_UP_S: Final = 60.0
# A clock that differs more from that of the database is wrong.
_MAX_SKEW_MS: Final = 3_600_000
_logger = get_logger("server")


class PostgresStorage:
    """The storage in PostgreSQL; see `Storage`. `node` names this server in the database, by
    default by chance. With `log_url`, the records of live runs are in a Valkey or Redis."""

    def __init__(
        self,
        url: str,
        *,
        log_url: str | None = None,
        node: str | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        self.pool = Pool(url)
        self.node = node or f"node_{uuid.uuid4().hex[:12]}"
        postgres_store = PostgresStore(self.pool, self.node)
        self._archive = PostgresLog(self.pool)
        self._live_log: ValkeyLog | None = None
        if log_url is not None:
            self._live_log = _create_live_log(log_url, self._archive, postgres_store)
            postgres_store.live_log = self._live_log
        self._log = self._live_log or self._archive
        self.store: Store = postgres_store
        self.log: Log = self._log
        self.access_tokens: TokenCheck = PostgresTokens(self.pool)
        self.accounts: Accounts = PostgresAccounts(self.pool)
        self.user_data: UserData = PostgresUserData(self.pool)
        self.usage: UsageCount = PostgresUsage(self.pool)
        self.files: Files = PostgresFiles(self.pool)
        self.cluster: Cluster | None = PostgresCluster(
            self.pool,
            postgres_store,
            self._log,
            self.node,
            lease_s,
            listen=None if self._live_log is None else self._live_log.listen,
        )
        self._checked_s = float("-inf")
        self._problem = ""
        self._cleaned_s = float("-inf")

    async def open(self) -> None:
        await self.pool.open()
        try:
            await migrate(self.pool)
            await check_log_kind(self.pool, "postgres" if self._live_log is None else "valkey")
            if self._live_log is not None:
                await self._live_log.open()
        except BaseException:
            await self.close()
            raise

    async def open_to_read(self) -> None:
        """Connect to look at what is stored. Nothing is changed. Raises `UsageError` if the tables
        are of another version."""
        await self.pool.open()
        try:
            await check_version(self.pool)
            if self._live_log is not None:
                await self._live_log.client.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        if self._live_log is not None:
            await self._live_log.close()
        await self._archive.close()
        await self.pool.close()

    def close_now(self) -> None:
        """Do nothing: the database notices that the connections are gone."""

    async def find_problem(self) -> str:
        now_s = time.monotonic()
        if now_s - self._checked_s >= _CHECK_S:
            self._problem = await self._check()
            self._checked_s = time.monotonic()
        return self._problem

    async def _check(self) -> str:
        try:
            async with asyncio.timeout(_WRITE_S):
                # A write to the row that says that this server is alive.
                await self.pool.execute(
                    "UPDATE nodes SET renewed_at = renewed_at WHERE id = $1", self.node
                )
                if self._live_log is not None:
                    await self._live_log.check()
        except TimeoutError:
            return f"the {self._place} not finish a write within {_WRITE_S:.0f} s"
        except StorageFailed as error:
            _logger.warning("a test write failed: %s", error)
            return f"the {self._place} not accept writes; the server's log says why"
        return ""

    @property
    def _place(self) -> str:
        return "database does" if self._live_log is None else "database or the log does"

    async def is_clock_trusted(self, now_ms: int) -> bool:
        found = await self.pool.fetch(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms"
        )
        skew_ms: int = abs(found[0]["now_ms"] - now_ms)
        return skew_ms <= _MAX_SKEW_MS

    async def clean_up(self) -> None:
        if time.monotonic() - self._cleaned_s >= _CLEAN_UP_S:
            self._cleaned_s = time.monotonic()
            await finish_deletions(self.pool)

    async def stored_bytes(self, owner: str) -> int:
        found = await self.pool.fetch("SELECT bytes FROM stored_bytes WHERE owner = $1", owner)
        return found[0]["bytes"] if found else 0

    async def server_key(self, name: str) -> bytes:
        return await read_server_key(self.pool, name)

    def metrics(self) -> Sequence[Metric]:
        refused = "Records refused because another server has the run."
        metrics = [
            Metric("commits_total", "counter", "Transactions written.", self.pool.commits),
            Metric("refused_records_total", "counter", refused, self._log.refused),
        ]
        if self.cluster is not None and (age_s := self.cluster.lease_age_s) < float("inf"):
            age = "Time since the last heartbeat that the database has accepted."
            metrics.append(Metric("lease_age_seconds", "gauge", age, round(age_s, 3)))
        live = self._live_log
        batches = self._log.batches if live is None else live.batches
        metrics += write_metrics(batches.waiting, batches.lag_s)
        if live is not None:
            restored = "Records appended again because the log had lost them."
            held = "Size of the records that are not known to be on the disk of the log."
            metrics += [
                Metric("restored_records_total", "counter", restored, live.restored),
                Metric("held_records_bytes", "gauge", held, live.held_bytes),
            ]
        return metrics


def _create_live_log(url: str, archive: PostgresLog, store: PostgresStore) -> ValkeyLog:
    # Its driver is an extra.
    from headrace.server.storage.valkey.log import ValkeyLog  # noqa: PLC0415

    return ValkeyLog(url, archive, store.owns)

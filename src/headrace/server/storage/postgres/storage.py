"""Everything in one PostgreSQL database, which several servers can share."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Final

from headrace.log import get_logger
from headrace.server.storage.cluster import Cluster
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.files import Files
from headrace.server.storage.lease import LEASE_S
from headrace.server.storage.log import Log
from headrace.server.storage.postgres.cluster import PostgresCluster
from headrace.server.storage.postgres.files import PostgresFiles
from headrace.server.storage.postgres.log import PostgresLog
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import migrate
from headrace.server.storage.postgres.store import PostgresStore
from headrace.server.storage.postgres.tables.deletion import finish_deletions
from headrace.server.storage.postgres.tables.tokens import PostgresTokens, read_server_key
from headrace.server.storage.postgres.tables.usage import PostgresUsage
from headrace.server.storage.storage import Metric, TokenCheck, UsageCount
from headrace.server.storage.store import Store

_CHECK_S: Final = 1.0
_WRITE_S: Final = 5.0
_CLEAN_UP_S: Final = 60.0
# A clock that differs more from that of the database is wrong.
_MAX_SKEW_MS: Final = 3_600_000
_logger = get_logger("server")


class PostgresStorage:
    """The storage in PostgreSQL; see `Storage`. `node` names this server in the database, by
    default by chance."""

    def __init__(self, url: str, *, node: str | None = None, lease_s: float = LEASE_S) -> None:
        self.pool = Pool(url)
        self.node = node or f"node_{uuid.uuid4().hex[:12]}"
        postgres_store = PostgresStore(self.pool, self.node)
        self._log = PostgresLog(self.pool)
        self.store: Store = postgres_store
        self.log: Log = self._log
        self.access_tokens: TokenCheck = PostgresTokens(self.pool)
        self.usage: UsageCount = PostgresUsage(self.pool)
        self.files: Files = PostgresFiles(self.pool)
        self.cluster: Cluster | None = PostgresCluster(
            self.pool, postgres_store, self._log, self.node, lease_s
        )
        self._checked_s = float("-inf")
        self._problem = ""
        self._cleaned_s = float("-inf")

    async def open(self) -> None:
        await self.pool.open()
        await migrate(self.pool)

    async def close(self) -> None:
        await self._log.close()
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
        except TimeoutError:
            return f"the database does not finish a write within {_WRITE_S:.0f} s"
        except StorageFailed as error:
            _logger.warning("a test write to the database failed: %s", error)
            return "the database cannot be written; the server's log says why"
        return ""

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
        return [
            Metric("commits_total", "counter", "Transactions written.", self.pool.commits),
            Metric("refused_records_total", "counter", refused, self._log.refused),
        ]

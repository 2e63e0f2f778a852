"""Several servers on one PostgreSQL: heartbeats, and notifications that wake them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from headrace.log import get_logger
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.lease import LEASE_S, Lease
from headrace.server.storage.postgres.log import LOG_CHANNEL
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.store import PostgresStore
from headrace.server.storage.postgres.tables.inbox import INBOX_CHANNEL
from headrace.server.storage.postgres.tables.nodes import Nodes
from headrace.server.storage.store import RunRow

_RECONNECT_S: Final = 0.5
_logger = get_logger("server")


Listen: TypeAlias = Callable[[Callable[[Sequence[str]], None]], Coroutine[Any, Any, None]]
"""Calls a function with the ids of watched runs that have new records, for ever."""


class SharedLog(Protocol):
    """A log that several servers share."""

    async def watch(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Ask for notifications about these runs for a while; return the number of the last record
        of each."""
        ...

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of the last record of each of these runs."""
        ...


class PostgresCluster:
    """This server among those that share a database; see `Cluster`. `listen` tells about new
    records if the log of live runs is elsewhere."""

    def __init__(
        self,
        pool: Pool,
        store: PostgresStore,
        log: SharedLog,
        node: str,
        lease_s: float = LEASE_S,
        listen: Listen | None = None,
    ) -> None:
        self.node = node
        self.lease = Lease(lease_s)
        self._pool = pool
        self._store = store
        self._log = log
        self._listen_to_log = listen
        self._nodes = Nodes(pool)
        self._tasks: list[asyncio.Task[None]] = []
        self._on_entry: Callable[[str], None] = _ignore
        self._on_records: Callable[[Sequence[str]], None] = _ignore
        store.may_take_over = self._may_take_over

    async def open(
        self,
        on_entry: Callable[[str], None],
        on_records: Callable[[Sequence[str]], None],
    ) -> None:
        self._on_entry, self._on_records = on_entry, on_records
        await self._renew()
        self._tasks = [
            asyncio.create_task(self._beat(), name="heartbeat"),
            asyncio.create_task(self._listen(), name="notifications"),
        ]
        if self._listen_to_log is not None:
            work = self._listen_to_log(on_records)
            self._tasks.append(asyncio.create_task(work, name="messages of the log"))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(StorageFailed):
            await self._nodes.remove(self.node)

    async def forget(self, node: str) -> None:
        await self._nodes.remove(node)

    @property
    def lease_age_s(self) -> float:
        return self.lease.age_s(time.monotonic())

    @property
    def is_current(self) -> bool:
        return self.lease.is_current(time.monotonic())

    def _may_take_over(self) -> bool:
        return self.lease.can_take_over(time.monotonic())

    async def notify(self, run_id: str) -> None:
        await self._pool.execute("SELECT pg_notify($1, $2)", INBOX_CHANNEL, run_id)

    async def release(self, run: RunRow) -> None:
        await self._store.release(run)

    async def runs_to_wake(self) -> list[str]:
        return await self._store.runs_to_wake()

    async def watch(self, run_ids: Sequence[str]) -> dict[str, int]:
        return await self._log.watch(run_ids)

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        return await self._log.last_seqs(run_ids)

    async def _renew(self) -> None:
        sent_s = time.monotonic()
        await self._nodes.renew(self.node, self.lease.lease_s)
        self.lease.renew(sent_s)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.lease.heartbeat_s)
            try:
                async with asyncio.timeout(self.lease.heartbeat_s):
                    await self._renew()
            except (StorageFailed, TimeoutError) as error:
                reason = str(error) or "it took too long"
                _logger.warning("a heartbeat was not accepted: %s", reason)

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (StorageFailed, OSError) as error:
                _logger.warning("notifications are interrupted: %s", error)
            await asyncio.sleep(_RECONNECT_S)

    async def _listen_once(self) -> None:
        """Listen until the connection is lost."""
        connection = await self._pool.connect()
        lost = asyncio.Event()
        try:
            connection.add_termination_listener(partial(_set, lost))
            await connection.add_listener(INBOX_CHANNEL, self._hear_entry)
            await connection.add_listener(LOG_CHANNEL, self._hear_records)
            # Whatever was said before.
            self._on_records(())
            for run_id in await self.runs_to_wake():
                self._on_entry(run_id)
            await lost.wait()
        finally:
            connection.terminate()

    def _hear_entry(self, connection: Any, pid: int, channel: str, payload: Any) -> None:
        self._on_entry(str(payload))

    def _hear_records(self, connection: Any, pid: int, channel: str, payload: Any) -> None:
        self._on_records(str(payload).split())


def _set(event: asyncio.Event, connection: object) -> None:
    event.set()


def _ignore(_: object) -> None:
    pass

"""The storage of one simulated server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from headrace.events import Record
from headrace.messages import Message
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.lease import Lease
from headrace.server.storage.log import Done
from headrace.server.storage.storage import Metric
from headrace.server.storage.store import RunRow, RunStart, StartedRun
from tests.cluster.simulation.world import Link, World, run_now


class SimLog:
    """The log as one server has it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def append(self, run_id: str, records: Sequence[Record], epoch: int = 0) -> None:
        given = list(records)
        await self._link.retry(lambda: self._link.world.append(run_id, given, epoch))

    def tail(self, run_id: str, epoch: int = 0) -> SimTail:
        return SimTail(self, run_id, epoch)

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        log = self._link.world.log
        return await self._link.call(lambda: run_now(log.read(run_id, after, max_bytes)))

    async def delete(self, run_ids: Sequence[str]) -> None:
        raise NotImplementedError


class SimTail:
    """The end of one run's log."""

    def __init__(self, log: SimLog, run_id: str, epoch: int) -> None:
        self._log, self._run_id, self._epoch = log, run_id, epoch
        self._pending: list[tuple[Sequence[Record], Done]] = []
        self._task: asyncio.Task[None] | None = None

    def put(self, records: Sequence[Record], done: Done) -> None:
        self._pending.append((records, done))
        if self._task is None:
            self._task = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._pending:
            batch, self._pending = self._pending, []
            error: Exception | None = None
            try:
                records = [record for part, _ in batch for record in part]
                await self._log.append(self._run_id, records, self._epoch)
            except StorageFailed as raised:
                error = raised
            for _, done in batch:
                done(error)
        self._task = None


class SimStore:
    """The store as one server has it: every method is a transaction that may get lost."""

    def __init__(self, link: Link, lease: Lease) -> None:
        self._link = link
        self._world = link.world
        self._lease = lease
        self.message_writes = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._world.store, name)

        async def call(*values: Any, **options: Any) -> Any:
            return await self._link.call(lambda: run_now(method(*values, **options)))

        return call

    async def begin(self, start: RunStart) -> StartedRun:
        if not self._world.rules.begin_checks_key:
            start = msgspec.structs.replace(start, idempotency_key=None, is_branch=True)

        def work() -> StartedRun:
            if (begun := self._world.store._runs.get(start.run_id)) is not None:
                return StartedRun(run=begun, is_repeated=begun.epoch > 0)
            started = run_now(self._world.store.begin(start))
            if not started.is_repeated:
                self._world._replace(started.run.id, holder=self._link.node)
            return StartedRun(
                run=self._world.store._runs[started.run.id], is_repeated=started.is_repeated
            )

        return await self._link.retry(work)

    async def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        await self._link.retry(lambda: self._world.commit(run, message, closing))

    async def suspend(
        self, run: RunRow, now_ms: int, expires_ms: int | None, *, even_with_input: bool = False
    ) -> bool:
        return await self._link.retry(
            lambda: self._world.suspend(run, now_ms, expires_ms, even_with_input)
        )

    async def claim(self, run: RunRow, *, even_if_live: bool = False) -> int | None:
        can_take_over = even_if_live and self._lease.can_take_over(self._world.now_s())
        return await self._link.call(
            lambda: self._world.claim(run, self._link.node, even_if_live, can_take_over)
        )

    async def runs_with_entries(self) -> list[RunRow]:
        if not self._world.rules.answers_wake_runs:
            return []
        return await self._link.call(lambda: run_now(self._world.store.runs_with_entries()))

    async def live_runs(self) -> list[RunRow]:
        can_take_over = self._lease.can_take_over(self._world.now_s())

        def work() -> list[RunRow]:
            return [
                row
                for row in run_now(self._world.store.live_runs())
                if row.holder in (self._link.node, None)
                or (can_take_over and not self._world.is_alive(row.holder))
            ]

        return await self._link.call(work)


class SimCluster:
    """One server among the others."""

    def __init__(self, link: Link, lease: Lease) -> None:
        self.node = link.node
        self._link = link
        self._lease = lease
        self._task: asyncio.Task[None] | None = None

    @property
    def is_current(self) -> bool:
        return self._lease.is_current(self._link.world.now_s())

    async def open(
        self, on_entry: Callable[[str], None], on_records: Callable[[Sequence[str]], None]
    ) -> None:
        self._link.on_entry, self._link.on_records = on_entry, on_records
        await self._link.retry(self._note)
        self._lease.renew(self._link.world.now_s())
        self._task = asyncio.create_task(self._beat())

    def _note(self) -> None:
        self._link.world.renewed_s[self.node] = self._link.world.now_s()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._lease.heartbeat_s)
            sent_s = self._link.world.now_s()
            with suppress(StorageFailed):
                await self._link.call(self._note)
                self._lease.renew(sent_s)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        with suppress(StorageFailed):
            await self.forget(self.node)

    async def forget(self, node: str) -> None:
        await self._link.call(lambda: self._link.world.renewed_s.pop(node, None))

    async def notify(self, run_id: str) -> None:
        def work() -> None:
            for link in self._link.world.links.values():
                link.hear_entry(run_id)

        await self._link.call(work)

    async def release(self, run: RunRow) -> None:
        def work() -> None:
            row = self._link.world.store._runs[run.id]
            if row.epoch == run.epoch:
                self._link.world._replace(run.id, holder=None)

        await self._link.call(work)

    async def runs_to_wake(self) -> list[str]:
        store = self._link.world.store

        def work() -> list[str]:
            open_runs = {e.run_id for e in store._entries.values() if e.id not in store._taken}
            return [
                run_id
                for run_id in sorted(open_runs)
                if store._runs[run_id].holder == self.node and store._runs[run_id].is_live
            ]

        return await self._link.call(work)

    async def watch(self, run_ids: Sequence[str]) -> dict[str, int]:
        world = self._link.world
        for run_id in run_ids:
            world.watched.setdefault(run_id, set()).add(self.node)
        return await self.last_seqs(run_ids)

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        runs = self._link.world.log.runs
        return await self._link.call(lambda: {one: len(runs.get(one, ())) for one in run_ids})


class _NoUsage:
    async def add(self, row: Any) -> None:
        pass

    async def count_request(self, counted: Any, now_ms: int) -> None:
        return None

    async def delete_old_windows(self, now_ms: int) -> None:
        pass


class _NoTokens:
    async def find_user(self, access_token: str, now_ms: int) -> None:
        return None

    async def find_revoked(self, token_hashes: Any, now_ms: int) -> set[bytes]:
        return set()


class _NoAccounts:
    async def settings(self, owner: str) -> dict[str, Any]:
        return {}

    async def expire_sign_ins(self, created_ms: int, last_used_ms: int) -> int:
        return 0


class _NoUserData:
    async def requested_deletions(self) -> list[str]:
        return []


class SimStorage:
    """Everything that a simulated server stores; see `Storage`."""

    def __init__(self, world: World, node: str) -> None:
        self.link = Link(world, node)
        self.lease = Lease(world.lease_s)
        self.store: Any = SimStore(self.link, self.lease)
        self.log: Any = SimLog(self.link)
        self.cluster: Any = SimCluster(self.link, self.lease)
        self.usage: Any = _NoUsage()
        self.files: Any = None
        self.access_tokens: Any = _NoTokens()
        self.accounts: Any = _NoAccounts()
        self.user_data: Any = _NoUserData()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def close_now(self) -> None:
        pass

    async def find_problem(self) -> str:
        return ""

    async def is_clock_trusted(self, now_ms: int) -> bool:
        return False

    async def clean_up(self) -> None:
        pass

    async def stored_bytes(self, owner: str) -> int:
        return 0

    async def server_key(self, name: str) -> bytes:
        return b"key"

    def metrics(self) -> Sequence[Metric]:
        return ()

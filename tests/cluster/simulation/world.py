"""The database of simulated servers, and the network in front of it. Everything happens in virtual
time and is chosen by a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from headrace.events import Record
from headrace.messages import Message
from headrace.server.storage.errors import RunTaken
from headrace.server.storage.outage import ConnectionLost
from headrace.server.storage.store import RunRow
from tests.server.memory_storage import MemoryLog, MemoryStore

T = TypeVar("T")


class Lost(ConnectionLost):
    """The database could not be reached, or its reply was lost."""


class Rules(NamedTuple):
    """Rules of the protocol. A test switches one off and expects that it is noticed.

    Where two rules cover each other, both are switched off together: a commit with an old epoch is
    refused by the row of the run and by the log, and an answer to a run that is being suspended is
    found in its inbox before and after.
    """

    log_checks_epoch: bool = True
    claim_raises_log_epoch: bool = True
    claim_checks_holder: bool = True
    repeated_append_is_recognized: bool = True
    begin_checks_key: bool = True
    commit_checks_epoch: bool = True
    answers_wake_runs: bool = True
    leases_lapse: bool = True


class World:
    """What all servers share: conversations, runs, logs, heartbeats."""

    def __init__(self, seed: int, rules: Rules) -> None:
        self.chance = random.Random(seed)
        self.rules = rules
        self.log = MemoryLog()
        self.store = MemoryStore(self.log)
        self.log_epochs: dict[str, int] = {}
        self.renewed_s: dict[str, float] = {}
        self.lease_s = 5.0
        self.links: dict[str, Link] = {}
        self.watched: dict[str, set[str]] = {}
        self.loss = 0.02
        self.refused = 0
        """Number of writes that were refused because another server had the run."""
        self.stolen = 0
        """Number of runs that were taken from a server that was alive."""

    def now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def is_alive(self, node: str | None) -> bool:
        """Whether a server has renewed its lease, by the clock of the database."""
        if node is None or node not in self.renewed_s:
            return False
        if not self.rules.leases_lapse:
            return True
        return self.now_s() - self.renewed_s[node] < self.lease_s

    # -- transactions: each runs without a pause

    def append(self, run_id: str, records: Sequence[Record], epoch: int) -> None:
        kept = self.log.runs.get(run_id, [])
        last = len(kept)
        if self.rules.log_checks_epoch and self.log_epochs.get(run_id, 0) != epoch:
            self.refused += 1
            raise RunTaken(f"another server has run {run_id}")
        first = records[0].seq
        is_repeated = last == records[-1].seq and kept[first - 1 :] == list(records)
        if self.rules.repeated_append_is_recognized and is_repeated:
            return
        if not self.rules.log_checks_epoch:
            # Without a fence, a log keeps what comes.
            records = [
                Record(last + 1 + place, one.at_ms, one.event, one.path, one.step)
                for place, one in enumerate(records)
            ]
        self.log.append_now(run_id, records)
        for node in self.watched.get(run_id, set()):
            self.links[node].hear_records(run_id)

    def commit(self, run: RunRow, message: Message, closing: Sequence[Record]) -> None:
        row = self.store._runs[run.id]
        if not self.rules.commit_checks_epoch:
            run = msgspec.structs.replace(run, epoch=row.epoch)
        if row.epoch != run.epoch:
            self.refused += 1
            raise RunTaken(f"another server has run {run.id}")
        if not row.is_live and run.message_id in self.store._messages:
            return
        if closing:
            self.append(run.id, closing, run.epoch)
        run_now(self.store.commit(run, message, []))

    def suspend(
        self, run: RunRow, now_ms: int, expires_ms: int | None, even_with_input: bool
    ) -> bool:
        row = self.store._runs[run.id]
        if row.epoch != run.epoch or not row.is_live:
            return False
        even_with_input = even_with_input or not self.rules.answers_wake_runs
        given = self.store.suspend(run, now_ms, expires_ms, even_with_input=even_with_input)
        if not run_now(given):
            return False
        self._replace(run.id, holder=None)
        return True

    def claim(self, run: RunRow, node: str, even_if_live: bool, can_take_over: bool) -> int | None:
        row = self.store._runs[run.id]
        if not row.is_live:
            return None
        is_free = even_if_live and row.holder in (node, None)
        is_gone = can_take_over and not self.is_alive(row.holder)
        if self.rules.claim_checks_holder and not (row.is_suspended or is_free or is_gone):
            return None
        self.stolen += not row.is_suspended and row.holder != node and self.is_alive(row.holder)
        self._replace(run.id, holder=node, epoch=row.epoch + 1, is_suspended=False)
        self.store._expires_ms.pop(run.id, None)
        if self.rules.claim_raises_log_epoch:
            self.log_epochs[run.id] = row.epoch + 1
        return row.epoch + 1

    def _replace(self, run_id: str, **changes: Any) -> None:
        self.store._runs[run_id] = msgspec.structs.replace(self.store._runs[run_id], **changes)


class Link:
    """The connection of one server to the database."""

    def __init__(self, world: World, node: str) -> None:
        self.world = world
        self.node = node
        self.is_dead = False
        self._open = asyncio.Event()
        self._open.set()
        self.on_entry: Callable[[str], None] | None = None
        self.on_records: Callable[[Sequence[str]], None] | None = None
        world.links[node] = self

    def cut(self) -> None:
        """Let nothing through. What is under way waits, as for a process that is stopped."""
        self._open.clear()

    def heal(self) -> None:
        """Let everything through again."""
        self._open.set()

    async def call(self, work: Callable[[], T]) -> T:
        """Do something in the database. Raises `Lost` if the request or the reply is lost."""
        await self._travel()
        result = work()
        await self._travel()
        return result

    async def _travel(self) -> None:
        chance = self.world.chance
        await asyncio.sleep(chance.random() * 0.01)
        await self._open.wait()
        if self.is_dead:
            await asyncio.Event().wait()
        if chance.random() < self.world.loss:
            raise Lost("the connection is lost")

    async def retry(self, work: Callable[[], T]) -> T:
        """Do something until the reply has arrived."""
        while True:
            try:
                return await self.call(work)
            except Lost:
                await asyncio.sleep(0.1)

    # -- notifications, some of which are lost

    def hear_entry(self, run_id: str) -> None:
        if self._hears() and self.on_entry is not None:
            asyncio.get_running_loop().call_later(0.005, self.on_entry, run_id)

    def hear_records(self, run_id: str) -> None:
        if self._hears() and self.on_records is not None:
            asyncio.get_running_loop().call_later(0.005, self.on_records, [run_id])

    def _hears(self) -> bool:
        return not self.is_dead and self._open.is_set() and self.world.chance.random() < 0.8


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("it waits")

"""Appends records to Valkey, and appends them again if a power cut has taken them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from headrace.log import get_logger
from headrace.server.storage.errors import RunTaken, StorageFailed
from headrace.server.storage.log.batch import Batch
from headrace.server.storage.log.batch_writer import BatchWriter
from headrace.server.storage.outage import ConnectionLost
from headrace.server.storage.valkey import scripts
from headrace.server.storage.valkey.client import ValkeyClient
from headrace.server.storage.valkey.held_records import HeldRecords, HeldRun

MAX_HELD_BYTES: Final = 64_000_000
"""Most bytes of records that are kept until they are on the disk of Valkey; then appends wait."""
CONFIRM_S: Final = 1.0
"""Time between two questions whether records are on the disk."""
_DISK_MS: Final = 5_000
_GATHER_S: Final = 0.002
_PLACE: Final = "the log"
_logger = get_logger("server")

Owns = Callable[[str, int], Awaitable[bool]]
"""Returns whether this server still has a run, by its id and epoch."""


class Writer:
    """Appends records of all runs, one pipeline at a time, at most one append of a run in it."""

    def __init__(self, client: ValkeyClient, owns: Owns) -> None:
        self._client = client
        self._owns = owns
        self.batches = BatchWriter(self._append, _PLACE, _GATHER_S)
        """Takes the records of all runs."""
        self._confirming: asyncio.Task[None] | None = None
        self._probe = f"headrace:probe:{uuid.uuid4().hex[:12]}"
        self._server_run = ""
        """Names the process of Valkey; another one after each start."""
        self._checks = 0
        """How often the held records must still be appended again before any is released."""
        self.held = HeldRecords()
        self.refused = 0
        """Number of appends that were refused because another server has the run."""
        self.restored = 0
        """Number of records that were appended again because the log had lost them."""

    def open(self) -> None:
        """Begin to ask whether records are on the disk."""
        if self._confirming is None:
            self._confirming = asyncio.create_task(self._confirm_all(), name="valkey log on disk")

    async def close(self) -> None:
        """Finish what waits."""
        await self.batches.close()
        if self._confirming is not None:
            self._confirming.cancel()
            await asyncio.gather(self._confirming, return_exceptions=True)
            self._confirming = None

    async def _append(self, batches: list[Batch]) -> list[Exception | None]:
        answers = await self._client.run_script(
            scripts.APPEND, [self._to_call([batch]) for batch in batches]
        )
        errors: list[Exception | None] = []
        for batch, (code, number) in zip(batches, answers, strict=True):
            if code == scripts.SHORT:
                errors.append(await self._append_to_short(batch, number))
            else:
                errors.append(self._settle(batch, code, number))
        if self.held.bytes > MAX_HELD_BYTES:
            self.batches.has_room.clear()
        return errors

    def _to_call(self, batches: Sequence[Batch], keep: int = -1) -> list[Any]:
        """Return the arguments of the script that appends records of one run."""
        run_id, epoch, first = batches[0][:3]
        held = self.held.find(run_id, epoch)
        base = 0 if first == 1 else -1
        call: list[Any] = [
            *scripts.keys_of(run_id),
            epoch,
            base if held is None else held.base,
            keep,
            run_id,
        ]
        for batch in batches:
            call += [batch.first_seq, batch.last_seq, int(batch.is_closing), batch.body]
        return call

    def _settle(self, batch: Batch, code: int, number: int) -> StorageFailed | None:
        """Hold records that were accepted, or return why they were not."""
        run, first = batch.run_id, batch.first_seq
        if code == scripts.STORED:
            self.held.add(batch)
            return None
        if code == scripts.TAKEN:
            self.refused += 1
            self.held.drop(run)
            return RunTaken(f"another server has run {run}: record {first} is refused")
        if code == scripts.CLOSED:
            return StorageFailed(f"run {run} is closed: record {first} cannot follow")
        if code == scripts.DIFFERENT:
            return StorageFailed(f"run {run} has another record {first} already")
        return StorageFailed(f"record {first} of run {run} does not follow {number}")

    async def _append_to_short(self, batch: Batch, last_seq: int) -> StorageFailed | None:
        """Append records that do not follow the last one, after those that the log has lost."""
        held = self.held.find(batch.run_id, batch.epoch)
        if held is None or not held.batches or last_seq >= batch.first_seq:
            return self._settle(batch, scripts.SHORT, last_seq)
        error = await self._restore(held)
        if error is not None:
            return error
        ((code, number),) = await self._client.run_script(scripts.APPEND, [self._to_call([batch])])
        return self._settle(batch, code, number)

    async def restore(self, run_id: str, epoch: int) -> None:
        """Append what the log of a run has lost, if it is held. Raises `RunTaken`."""
        held = self.held.find(run_id, epoch)
        if held is not None and held.batches:
            error = await self._restore(held)
            if error is not None:
                raise error

    async def _restore(self, held: HeldRun) -> StorageFailed | None:
        """Append everything that is held; what the log has already is recognized."""
        batches = list(held.batches)
        first = batches[0]
        # The log may also have lost the claim of another server: the store knows it.
        if not await self._owns(first.run_id, held.epoch):
            return self._settle(first, scripts.TAKEN, -1)
        head = scripts.keys_of(first.run_id)[0]
        before = int(await self._client.execute("HGET", head, "last") or held.base)
        ((code, number),) = await self._client.run_script(
            scripts.APPEND, [self._to_call(batches, keep=first.first_seq - 1)]
        )
        if code != scripts.STORED:
            return self._settle(first, code, number)
        if number > before:
            self.restored += number - before
            _logger.warning("the log has lost records of run %s: appended again", first.run_id)
        return None

    async def probe(self) -> None:
        """Try a write. Raises `StorageFailed`."""
        await self._client.read_all([("SET", self._probe, 1, "EX", 60)])

    # -- what is on the disk

    async def find_server_run(self) -> None:
        """Note which process of Valkey accepts the records from now on."""
        info: Any = await self._client.execute("INFO", "server")
        self._server_run = read_info(info, "run_id")

    async def _confirm_all(self) -> None:
        while True:
            await asyncio.sleep(CONFIRM_S)
            if not self.held:
                continue
            try:
                await self._confirm()
            except StorageFailed as error:
                _logger.warning("it is not known what is on the disk of the log: %s", error)
            except Exception:
                # The task must not end: the next round tries again.
                _logger.exception("it is not known what is on the disk of the log")

    async def _confirm(self) -> None:
        """Release the records that are on the disk. If Valkey was started since they were accepted,
        append those again that it has lost."""
        marks = self.held.mark()
        # Everything that was accepted before this write is on the disk when the write is.
        _, synced, info = await self._client.execute_all(
            [
                ("SET", self._probe, 1, "EX", 60),
                ("WAITAOF", 1, 0, _DISK_MS),
                ("INFO", "server"),
            ]
        )
        server_run = read_info(info, "run_id")
        if server_run != self._server_run:
            # Twice, because an answer of the earlier process may be on its way.
            self._server_run, self._checks = server_run, 2
        if self._checks:
            await self._restore_all()
            self._checks -= 1
        elif synced[0] >= 1:
            self.held.release(marks)
        if self.held.bytes <= MAX_HELD_BYTES:
            self.batches.has_room.set()

    async def _restore_all(self) -> None:
        for run_id, mark in self.held.mark().items():
            try:
                await self.restore(run_id, mark.held.epoch)
            except ConnectionLost:
                raise
            except StorageFailed as error:
                _logger.error("run %s has lost records: %s", run_id, error)


def read_info(info: Any, name: str) -> str:
    """Return one field of what the command INFO has returned, as the driver gives it."""
    return str(info.get(name, ""))

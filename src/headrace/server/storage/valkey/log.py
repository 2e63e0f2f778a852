"""The live log in Valkey, and the store behind it: the records of runs that have ended or wait are
in PostgreSQL, and everything else is here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from headrace.errors import UsageError
from headrace.events import Record, decode_record
from headrace.log import get_logger
from headrace.server.storage.cluster import WATCH_S
from headrace.server.storage.errors import RunTaken, StorageFailed
from headrace.server.storage.log.batch import Batch
from headrace.server.storage.log.batch_writer import BatchTail, BatchWriter
from headrace.server.storage.outage import ConnectionLost, retry
from headrace.server.storage.store import RunRow
from headrace.server.storage.valkey import scripts
from headrace.server.storage.valkey.archive import Archive
from headrace.server.storage.valkey.client import ValkeyClient
from headrace.server.storage.valkey.writer import Owns, Writer, read_info

_PAGE_ENTRIES: Final = 200
_RECONNECT_S: Final = 0.5
_PLACE: Final = "the log"
_logger = get_logger("server")


class _Entry(NamedTuple):
    """Records that were appended together."""

    first_seq: int
    last_seq: int
    is_closing: bool
    body: bytes


class ValkeyLog:
    """Records of live runs in Valkey, and of all others in `archive`; see `Log`.

    Several servers can have one at a time. `owns` returns whether this server still has a run.
    """

    def __init__(self, url: str, archive: Archive, owns: Owns) -> None:
        self.client = ValkeyClient(url)
        self._archive = archive
        self._writer = Writer(self.client, owns)
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def batches(self) -> BatchWriter:
        """What appends the records."""
        return self._writer.batches

    @property
    def refused(self) -> int:
        """Number of appends that were refused because another server has the run."""
        return self._writer.refused

    @property
    def restored(self) -> int:
        """Number of records that were appended again because the log had lost them."""
        return self._writer.restored

    @property
    def held_bytes(self) -> int:
        """Size of the records that are kept until they are on the disk of Valkey."""
        return self._writer.held.bytes

    async def open(self) -> None:
        """Connect. Raises `UsageError` if the server would forget records."""
        await self.client.open()
        try:
            await self._check_server()
        except StorageFailed as error:
            raise UsageError(f"cannot use the log {self.client.host}: {error}") from None
        self._writer.open()

    async def _check_server(self) -> None:
        memory, persistence = await self.client.execute_all(
            [("INFO", "memory"), ("INFO", "persistence")]
        )
        policy = read_info(memory, "maxmemory_policy")
        if policy != "noeviction":
            raise UsageError(
                f"the log {self.client.host} may forget answers that are being written: its"
                f" maxmemory-policy is {policy}; set it to noeviction"
            )
        if read_info(persistence, "aof_enabled") != "1":
            raise UsageError(
                f"the log {self.client.host} keeps nothing when it is restarted: set appendonly yes"
            )
        try:
            await self.client.execute("WAITAOF", 0, 0, 1)
        except StorageFailed as error:
            raise UsageError(
                f"the log {self.client.host} is too old: Valkey, or Redis from 7.2 on ({error})"
            ) from None
        await self._writer.find_server_run()

    async def check(self) -> None:
        """Try a write. Raises `StorageFailed`."""
        await self._writer.probe()

    async def close(self) -> None:
        """Finish the appends that wait, and close the connections."""
        await self._writer.close()
        for task in self._retiring:
            task.cancel()
        await self.client.close()

    # -- the log

    def tail(self, run_id: str, epoch: int = 0) -> BatchTail:
        return self._writer.batches.tail(run_id, epoch)

    async def append(self, run_id: str, records: Sequence[Record], epoch: int = 0) -> None:
        await self._writer.batches.append(run_id, records, epoch)

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        # First the live records: they move from here into the store, and never back.
        lines, is_moving = await self._read_live(run_id, after, max_bytes)
        if is_moving or not lines or lines[0][0] != after + 1:
            stored = await self._archive.read(run_id, after, max_bytes)
            last = stored[-1].seq if stored else after
            lines = [line for line in lines if line[0] > last]
            if not lines or lines[0][0] != last + 1 or _is_full(stored, max_bytes):
                return stored
            return [*stored, *(decode_record(line) for _, line in lines)]
        return [decode_record(line) for _, line in lines]

    async def _read_live(
        self, run_id: str, after: int, max_bytes: int | None
    ) -> tuple[list[tuple[int, bytes]], bool]:
        """Return the lines of records with a number above `after`, each with its number, and
        whether the store may have more of them."""
        lines: list[tuple[int, bytes]] = []
        size, last, is_moving = 0, after, False
        while True:
            entries, is_moving_now = await self._read_entries(run_id, last)
            is_moving = is_moving or is_moving_now
            for entry in entries:
                for seq, line in enumerate(entry.body.split(b"\n"), entry.first_seq):
                    if seq > after:
                        lines.append((seq, line))
                        size += len(line)
                        if max_bytes is not None and size >= max_bytes:
                            return lines, is_moving
                last = entry.last_seq
            if len(entries) < _PAGE_ENTRIES:
                return lines, is_moving

    async def _read_entries(self, run_id: str, after: int) -> tuple[list[_Entry], bool]:
        """Return the next entries of the stream that end above a number, and whether they are being
        moved into the store."""
        head, stream, _ = scripts.keys_of(run_id)
        found, moving = await self.client.read_all(
            [
                ("XRANGE", stream, f"({after}-0", "+", "COUNT", _PAGE_ENTRIES),
                ("HGET", head, "moving"),
            ]
        )
        return [_to_entry(entry_id, fields) for entry_id, fields in found], moving is not None

    async def delete(self, run_ids: Sequence[str]) -> None:
        if run_ids:
            await self.client.execute_all([("DEL", *scripts.keys_of(one)) for one in run_ids])
        for run_id in run_ids:
            self._writer.held.drop(run_id)
        await self._archive.delete(run_ids)

    # -- other servers

    async def watch(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Ask for messages about these runs for `WATCH_S`; return the number of the last record of
        each."""
        commands = [("SET", scripts.keys_of(one)[2], 1, "EX", int(WATCH_S)) for one in run_ids]
        await self.client.read_all(commands)
        return await self.last_seqs(run_ids)

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of the last record of each of these runs."""
        commands = [("HGET", scripts.keys_of(one)[0], "last") for one in run_ids]
        found = await self.client.read_all(commands)
        # A run whose server was lost while it ended may have left an earlier end here.
        last_seqs = await self._archive.last_seqs(run_ids)
        for run_id, last in zip(run_ids, found, strict=True):
            if last is not None:
                last_seqs[run_id] = max(int(last), last_seqs.get(run_id, 0))
        return last_seqs

    async def listen(self, on_records: Callable[[Sequence[str]], None]) -> None:
        """Call `on_records` with the ids of watched runs that have new records, for ever; with none
        if some may have been missed."""
        while True:
            try:
                async with self.client.subscribe(scripts.LOG_CHANNEL) as subscription:
                    on_records(())
                    async for message in subscription.listen():
                        on_records([message["data"].decode()])
            except (StorageFailed, OSError) as error:
                _logger.warning("messages of the log are interrupted: %s", error)
            await asyncio.sleep(_RECONNECT_S)

    # -- the way into the store

    async def claim(self, run_id: str, epoch: int) -> None:
        """Keep earlier servers from appending to a run that the store has claimed for this one.
        Raises `RunTaken` if yet another one has claimed it since."""
        base = (await self._archive.last_seqs([run_id])).get(run_id, 0)

        async def work() -> None:
            call = [*scripts.keys_of(run_id), epoch, base]
            ((code, _),) = await self.client.run_script(scripts.CLAIM, [call])
            if code == scripts.TAKEN:
                raise RunTaken(f"another server has run {run_id}")
            # The earlier server does not hold them any more, and they may still be lost.
            batches = await self._read_batches(run_id, epoch, base)
            self._writer.held.begin(run_id, epoch, base, batches)

        await retry(work, _PLACE)

    async def collect(self, run: RunRow, last_seq: int | None = None) -> list[Batch]:
        """Return the records of a run that are not in the store, up to the one with this number,
        for the store. Raises `StorageFailed` if some are missing."""

        async def work() -> list[Batch]:
            base = (await self._archive.last_seqs([run.id])).get(run.id, 0)
            await self.client.run_script(scripts.MOVE, [scripts.keys_of(run.id)])
            batches = await self._read_batches(run.id, run.epoch, base)
            if _reaches(batches, base, last_seq):
                return batches
            await self._writer.restore(run.id, run.epoch)
            batches = await self._read_batches(run.id, run.epoch, base)
            if not _reaches(batches, base, last_seq):
                raise StorageFailed(f"the log has lost records of run {run.id}")
            return batches

        return await retry(work, _PLACE)

    async def _read_batches(self, run_id: str, epoch: int, base: int) -> list[Batch]:
        """Return all entries of a run above a number, as long as they follow one another."""
        batches: list[Batch] = []
        last, is_complete = base, False
        while not is_complete:
            entries, _ = await self._read_entries(run_id, last)
            is_complete = len(entries) < _PAGE_ENTRIES
            for entry in entries:
                if entry.first_seq != last + 1:
                    return batches
                batches.append(Batch(run_id, epoch, *entry))
                last = entry.last_seq
        return batches

    async def retire(self, run: RunRow, last_seq: int, *, is_closed: bool) -> None:
        """Remove the records of a run that are in the store now. If the log cannot be reached, this
        is tried again in the background; what is left after that expires."""
        self._writer.held.drop(run.id)
        call = [*scripts.keys_of(run.id), run.epoch, last_seq, int(is_closed), run.id]
        try:
            await self.client.run_script(scripts.RETIRE, [call])
        except ConnectionLost:
            task = asyncio.create_task(self._retire_later(call), name=f"retire {run.id}")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
        except StorageFailed as error:
            _logger.warning("run %s stays in the log: %s", run.id, error)

    async def _retire_later(self, call: Sequence[Any]) -> None:
        try:
            await retry(lambda: self.client.run_script(scripts.RETIRE, [call]), _PLACE)
        except StorageFailed as error:
            _logger.warning("run %s stays in the log: %s", call[-1], error)


def _to_entry(entry_id: bytes, fields: Any) -> _Entry:
    """Return an entry of a stream, as the driver gives it."""
    last_seq = int(entry_id.partition(b"-")[0])
    return _Entry(int(fields[b"f"]), last_seq, fields[b"c"] == b"1", fields[b"b"])


def _reaches(batches: Sequence[Batch], base: int, last_seq: int | None) -> bool:
    reached = batches[-1].last_seq if batches else base
    return last_seq is None or reached >= last_seq


def _is_full(records: Sequence[Record], max_bytes: int | None) -> bool:
    """Return whether a page of the store may have been cut. What follows it comes with the next
    page."""
    return max_bytes is not None and bool(records)

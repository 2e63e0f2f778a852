"""The log in SQLite, in the file of the store, so that both commit as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headrace.events import Record, decode_record
from headrace.server.storage.migrations import migrate
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.record_table import cut, read_chunks
from headrace.server.storage.sqlite.record_writer import (
    Batcher,
    BatchTail,
    RecordWriter,
    encode_rows,
)


class SQLiteLog:
    """Records of all runs in one file; see `Log`. Only one process at a time may have a log."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batcher = Batcher(database)
        self._writer = RecordWriter.of(database)
        database.write_now(migrate)
        database.write_now(self._writer.load)

    def tail(self, run_id: str, epoch: int = 0) -> BatchTail:
        return BatchTail(self._batcher, run_id)

    async def append(self, run_id: str, records: Sequence[Record], epoch: int = 0) -> None:
        rows = encode_rows(run_id, records)
        await self._database.write(lambda connection: self._writer.append(connection, rows))

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        bodies = await self._read_bodies(run_id, after, max_bytes)
        return [decode_record(body) for body in bodies]

    async def _read_bodies(self, run_id: str, after: int, max_bytes: int | None) -> list[bytes]:
        # The pending records first: those before them are in chunks already.
        end = self._writer.end_of(run_id)
        if end is None or not end.count:
            return await self._database.read(
                partial(read_chunks, run_id=run_id, after=after, max_bytes=max_bytes)
            )
        stored = end.last_seq - end.count
        bodies: list[bytes] = []
        if after < stored:
            bodies = await self._database.read(
                partial(read_chunks, run_id=run_id, after=after, max_bytes=max_bytes)
            )
            # Some of the pending records may have become a chunk in the meantime.
            bodies = bodies[: stored - after]
        if after + len(bodies) >= stored:
            bodies += end.pending.split(b"\n")[max(0, after - stored) :]
        return bodies if max_bytes is None else cut(bodies, max_bytes)

    async def delete(self, run_ids: Sequence[str]) -> None:
        await self._database.write(lambda connection: self._writer.delete(connection, run_ids))

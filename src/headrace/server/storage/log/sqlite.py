"""The log in SQLite: one row per record, in the file of the store, so that both commit as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial

from headrace.events import Record, decode_record
from headrace.server.storage.database import Database
from headrace.server.storage.record_writer import Batcher, BatchTail, append_rows, encode_rows


class SQLiteLog:
    """Records of all runs in one table; see `Log`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batcher = Batcher(database)

    def tail(self, run_id: str) -> BatchTail:
        return BatchTail(self._batcher, run_id)

    async def append(self, run_id: str, records: Sequence[Record]) -> None:
        rows = encode_rows(run_id, records)
        await self._database.write(lambda connection: append_rows(connection, rows))

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        bodies = await self._database.read(partial(_read_bodies, run_id, after, max_bytes))
        return [decode_record(body) for body in bodies]

    async def delete(self, run_ids: Sequence[str]) -> None:
        rows = [(run_id,) for run_id in run_ids]
        await self._database.write(
            lambda connection: connection.executemany("DELETE FROM records WHERE run_id = ?", rows)
        )


def _read_bodies(
    run_id: str, after: int, max_bytes: int | None, connection: sqlite3.Connection
) -> list[bytes]:
    rows = connection.execute(
        "SELECT body FROM records WHERE run_id = ? AND seq > ? ORDER BY seq", (run_id, after)
    )
    if max_bytes is None:
        return [row[0] for row in rows]
    bodies: list[bytes] = []
    size = 0
    for (body,) in rows:
        bodies.append(body)
        size += len(body)
        if size >= max_bytes:
            break
    rows.close()
    return bodies

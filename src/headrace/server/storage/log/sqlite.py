"""The log in SQLite: a row a record, in the file of the store, so that both can commit as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial

from headrace.events import Record, decode_record
from headrace.server.storage.database import Database
from headrace.server.storage.log.group import Group, GroupTail
from headrace.server.storage.record_rows import insert, rows_of


class SQLiteLog:
    """Records of all runs in one table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._group = Group(database)

    def tail(self, run_id: str) -> GroupTail:
        """The end of a run's log."""
        return GroupTail(self._group, run_id)

    async def append(self, run_id: str, records: Sequence[Record]) -> None:
        """Keep these behind what is there."""
        rows = rows_of(run_id, records)
        await self._database.write(lambda connection: insert(connection, rows))

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        """The records with a higher number than `after`, in order; no more once they are so
        large together, but one at least."""
        bodies = await self._database.read(partial(_bodies, run_id, after, max_bytes))
        return [decode_record(body) for body in bodies]

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Forget these runs."""
        rows = [(run_id,) for run_id in run_ids]
        await self._database.write(
            lambda connection: connection.executemany("DELETE FROM records WHERE run_id = ?", rows)
        )


def _bodies(
    run_id: str, after: int, max_bytes: int | None, connection: sqlite3.Connection
) -> list[bytes]:
    rows = connection.execute(
        "SELECT body FROM records WHERE run_id = ? AND seq > ? ORDER BY seq", (run_id, after)
    )
    if max_bytes is not None:
        return _page(rows, max_bytes)
    return [row[0] for row in rows]


def _page(rows: sqlite3.Cursor, max_bytes: int) -> list[bytes]:
    bodies: list[bytes] = []
    size = 0
    for (body,) in rows:
        bodies.append(body)
        size += len(body)
        if size >= max_bytes:
            break
    rows.close()
    return bodies

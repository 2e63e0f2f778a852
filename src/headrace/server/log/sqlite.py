"""The log in SQLite: a row a record, in the file of the store, so that both can commit as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from headrace.events import Record, decode_record
from headrace.server.database import Database
from headrace.server.log.group import Group, GroupTail
from headrace.server.records import insert, rows_of


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

    async def read(self, run_id: str, after: int = 0) -> list[Record]:
        """The records with a higher number than `after`, in order."""
        bodies = await self._database.read(lambda connection: _bodies(connection, run_id, after))
        return [decode_record(body) for body in bodies]

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Forget these runs."""
        rows = [(run_id,) for run_id in run_ids]
        await self._database.write(
            lambda connection: connection.executemany("DELETE FROM records WHERE run_id = ?", rows)
        )


def _bodies(connection: sqlite3.Connection, run_id: str, after: int) -> list[bytes]:
    rows = connection.execute(
        "SELECT body FROM records WHERE run_id = ? AND seq > ? ORDER BY seq", (run_id, after)
    )
    return [row[0] for row in rows]

"""Rows of the `records` table, for use inside a transaction of the log or of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from headrace.events import Record, RunClosed, decode_record, encode_record
from headrace.server.storage.database import StorageFailed

Row: TypeAlias = tuple[str, int, bytes]
CLOSED: Final = -1
"""Stands for the number of the last record if that record closes the run."""
MAX_ROWS: Final = 64
"""Rows per INSERT. SQLite allows 32,766 parameters, and caches one statement for each length."""


class Rows(NamedTuple):
    """Encoded records of one run, in order."""

    rows: list[Row]
    is_closing: bool
    """Whether one of them closes the run."""
    is_late: bool
    """Whether some follow the one that closes the run."""

    @property
    def last_seq(self) -> int:
        return CLOSED if self.is_closing else self.rows[-1][1]


def encode_rows(run_id: str, records: Sequence[Record]) -> Rows:
    """Encode records as rows, in the caller's thread instead of the writer's."""
    rows = [(run_id, record.seq, encode_record(record)) for record in records]
    ends = [isinstance(record.event, RunClosed) for record in records]
    return Rows(rows, is_closing=any(ends), is_late=any(ends[:-1]))


def append_rows(connection: sqlite3.Connection, added: Rows) -> None:
    """Append rows to their run. Raises `StorageFailed` as `check_order()` does."""
    if added.rows:
        check_order(connection, added)
        insert_rows(connection, added.rows)


def insert_rows(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Insert rows, many per statement: each statement releases the interpreter lock once."""
    for start in range(0, len(rows), MAX_ROWS):
        chunk = rows[start : start + MAX_ROWS]
        places = ",".join(["(?,?,?)"] * len(chunk))
        values = [value for row in chunk for value in row]
        connection.execute(f"INSERT INTO records (run_id, seq, body) VALUES {places}", values)


def check_order(connection: sqlite3.Connection, added: Rows, last: int | None = None) -> None:
    """Check that rows follow the last record of their run, which is looked up if not given.

    Raises `StorageFailed` if they leave a gap, repeat a number, or follow the end of the run.
    """
    run_id, first, _ = added.rows[0]
    if last is None:
        last = _last_seq(connection, run_id)
    if last == CLOSED or added.is_late:
        raise StorageFailed(f"run {run_id} is closed: record {first} cannot follow")
    if first != last + 1:
        raise StorageFailed(f"record {first} of run {run_id} does not follow record {last}")


def _last_seq(connection: sqlite3.Connection, run_id: str) -> int:
    row = connection.execute(
        "SELECT seq, body FROM records WHERE run_id = ? ORDER BY seq DESC LIMIT 1", (run_id,)
    ).fetchone()
    if row is None:
        return 0
    return CLOSED if isinstance(decode_record(row["body"]).event, RunClosed) else int(row["seq"])

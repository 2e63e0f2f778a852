"""Rows of the table of records, inside a transaction: what the log writes, and what the store
writes of a log's end with its message. Neither knows the other."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from headrace.events import Record, RunClosed, decode_record, encode_record
from headrace.server.storage.database import StorageFailed

Row: TypeAlias = tuple[str, int, bytes]
CLOSED: Final = -1
"""The number of the last record, where nothing may follow it."""
MAX_ROWS: Final = 64
"""In one statement: SQLite allows 32,766 parameters, and keeps one of each length prepared."""


class Rows(NamedTuple):
    """Some records of one run, in order, as they are kept."""

    rows: list[Row]
    is_closing: bool
    """Whether the last of them closes the run."""
    is_late: bool
    """Whether some come behind one that does."""

    @property
    def last_seq(self) -> int:
        return CLOSED if self.is_closing else self.rows[-1][1]


def rows_of(run_id: str, records: Sequence[Record]) -> Rows:
    """The rows of some records; encoded by the caller's thread, not the writer's."""
    rows = [(run_id, record.seq, encode_record(record)) for record in records]
    ends = [isinstance(record.event, RunClosed) for record in records]
    return Rows(rows, is_closing=any(ends), is_late=any(ends[:-1]))


def insert(connection: sqlite3.Connection, added: Rows) -> None:
    """Append rows of one run. Raises `StorageFailed` where they leave a gap, come twice, or come
    behind its end."""
    if added.rows:
        check(connection, added)
        insert_rows(connection, added.rows)


def insert_rows(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Insert rows, in statements as long as can be: each lets go of the interpreter once."""
    for start in range(0, len(rows), MAX_ROWS):
        some = rows[start : start + MAX_ROWS]
        places = ",".join(["(?,?,?)"] * len(some))
        values = [value for row in some for value in row]
        connection.execute(f"INSERT INTO records (run_id, seq, body) VALUES {places}", values)


def check(connection: sqlite3.Connection, added: Rows, last: int | None = None) -> None:
    """Raises `StorageFailed` where these do not follow the last record of their run, or come
    behind its end. It is looked for where it is not known."""
    run_id, first, _ = added.rows[0]
    if last is None:
        last = _last_seq(connection, run_id)
    if last == CLOSED or added.is_late:
        raise StorageFailed(f"run {run_id} is closed: record {first} cannot follow")
    if first != last + 1:
        raise StorageFailed(f"record {first} of run {run_id} does not follow record {last}")


def _last_seq(connection: sqlite3.Connection, run_id: str) -> int:
    """The number of the last record of a run; 0 where there is none."""
    row = connection.execute(
        "SELECT seq, body FROM records WHERE run_id = ? ORDER BY seq DESC LIMIT 1", (run_id,)
    ).fetchone()
    if row is None:
        return 0
    return CLOSED if isinstance(decode_record(row["body"]).event, RunClosed) else int(row["seq"])

"""Writes records into the `records` table: encodes rows, checks their order, and gathers batches.

Records that many runs log at about the same time become one write of the database. The first
waiting record waits up to 3 ms for others; records that arrive during a write are in the next one.
The store uses the same rows to close a run in the transaction that commits its message.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, NamedTuple, TypeAlias, cast

from headrace.events import Record, RunClosed, decode_record, encode_record
from headrace.server.storage.database import Database, StorageFailed

Done: TypeAlias = Callable[[Exception | None], None]
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


# -- batches

# One write per event would cost much more CPU; the design allows 5 ms until the commit.
_GATHER_S = 0.003


class BatchTail:
    """The end of one run's log; see `Tail`."""

    __slots__ = ("_batcher", "_run_id", "last_seq")

    def __init__(self, batcher: Batcher, run_id: str) -> None:
        self._batcher = batcher
        self._run_id = run_id
        self.last_seq: int | None = None
        """Number of the last committed record, or None if unknown. For the writer thread only."""

    def put(self, records: Sequence[Record], done: Done) -> None:
        self._batcher.put(_Entry(self, encode_rows(self._run_id, records), done))


class _Entry(NamedTuple):
    tail: BatchTail
    added: Rows
    done: Done


class Batcher:
    """Collects entries in one event loop and writes them batch by batch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: list[_Entry] = []
        self._is_writing = False

    def put(self, entry: _Entry) -> None:
        """Write the entry with the next batch."""
        self._pending.append(entry)
        if not self._is_writing:
            self._is_writing = True
            asyncio.get_running_loop().call_later(_GATHER_S, self._write_batch)

    def _write_batch(self) -> None:
        batch, self._pending = self._pending, []
        rows = sum(len(entry.added.rows) for entry in batch)
        future = self._database.submit(partial(_insert_batch, batch), is_atomic=rows <= MAX_ROWS)
        future.add_done_callback(partial(self._hand_over, asyncio.get_running_loop(), batch))

    def _hand_over(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: list[_Entry],
        future: Future[list[Exception | None]],
    ) -> None:
        """Runs in the writer thread: note what was committed, and report to the event loop."""
        failure = cast("Exception | None", future.exception())
        errors: list[Exception | None] = [failure] * len(batch)
        if failure is None:
            errors = future.result()
        for (tail, added, _), error in zip(batch, errors, strict=True):
            if error is None:
                tail.last_seq = added.last_seq
            elif failure is not None:
                tail.last_seq = None
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._finish_batch, batch, errors)

    def _finish_batch(self, batch: list[_Entry], errors: list[Exception | None]) -> None:
        if self._pending:
            self._write_batch()
        else:
            self._is_writing = False
        for entry, error in zip(batch, errors, strict=True):
            entry.done(error)


def _insert_batch(batch: list[_Entry], connection: sqlite3.Connection) -> list[Exception | None]:
    """Insert the entries that follow on their run's log; return for each its error, or None."""
    rows: list[Row] = []
    errors: list[Exception | None] = []
    # The tails themselves change only after the commit.
    last_seqs: dict[BatchTail, int] = {}
    for tail, added, _ in batch:
        try:
            check_order(connection, added, last_seqs.get(tail, tail.last_seq))
        except StorageFailed as error:
            errors.append(error)
            continue
        last_seqs[tail] = added.last_seq
        rows += added.rows
        errors.append(None)
    insert_rows(connection, rows)
    return errors

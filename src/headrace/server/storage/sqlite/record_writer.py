"""Appends records to the logs of runs: encodes rows, checks their order, and gathers batches.

Records that many runs log at about the same time become one write of the database. The first
waiting record waits for others, between 1 ms on a quiet server and 8 ms on a crowded one; records
that arrive during a write are in the next one.
The store uses the same writer to close a run in the transaction that commits its message.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from headrace.events import DELTA_TYPES, Record, RunClosed, RunSuspended, encode_record
from headrace.log import get_logger
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.sqlite.record_table import (
    CHUNK_BYTES,
    CLOSED,
    Row,
    delete_chunks,
    find_last_seq,
    insert_batch,
    insert_chunks,
    read_batches,
    select_missing,
)

Done: TypeAlias = Callable[[Exception | None], None]
MAX_BATCHES: Final = 4_096
"""Most rows of `record_batches`: runs whose records are in older ones get a chunk."""
_TRIM_EVERY: Final = 256
_logger = get_logger("server")


class Rows(msgspec.Struct, frozen=True, gc=False):
    """Encoded records of one run, in order."""

    rows: list[Row]
    is_closing: bool = False
    """Whether one of them closes the run."""
    is_late: bool = False
    """Whether some follow the one that closes the run."""
    is_resting: bool = False
    """Whether nothing follows for a while: the last one suspends the run."""


def encode_rows(run_id: str, records: Sequence[Record]) -> Rows:
    """Encode records as rows, in the caller's thread instead of the writer's."""
    if len(records) == 1 and type(records[0].event) in DELTA_TYPES:
        # Nearly all calls are these.
        return Rows([(run_id, records[0].seq, encode_record(records[0]))])
    rows = [(run_id, record.seq, encode_record(record)) for record in records]
    ends = [isinstance(record.event, RunClosed) for record in records]
    is_resting = bool(records) and isinstance(records[-1].event, RunSuspended)
    return Rows(rows, any(ends), any(ends[:-1]), is_resting)


class RunEnd(msgspec.Struct, frozen=True, gc=False):
    """The end of one run's log. Never changed, so that other threads can read it."""

    last_seq: int
    pending: bytes = b""
    """The newest records, one a line, which are in batches and not yet in a chunk. They are one
    object because each one of its own would take 40 bytes more."""
    count: int = 0
    """Number of pending records."""
    first_batch: int = 0
    """Id of the batch with the first pending record."""


class RecordWriter:
    """Appends records to the logs of all runs of a database.

    Its methods run in the writer thread, inside a transaction, except `end_of()`.
    """

    _writers: WeakKeyDictionary[Database, RecordWriter] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._ends: dict[str, RunEnd] = {}
        # What the current transaction has changed.
        self._changed: dict[str, RunEnd | None] = {}
        self._is_loaded = False
        self._is_loading = False
        self._next_batch = 1

    @classmethod
    def of(cls, database: Database) -> RecordWriter:
        """Return the writer of a database; its log and its store share one."""
        writer = cls._writers.get(database)
        if writer is None:
            writer = cls._writers[database] = cls()
            database.on_commit, database.on_rollback = writer._accept, writer._discard
        return writer

    def end_of(self, run_id: str) -> RunEnd | None:
        """Return the end of a run's log if records of it are pending. Can be called anywhere."""
        return self._ends.get(run_id)

    def load(self, connection: sqlite3.Connection) -> None:
        """Move the records that a killed server has left in batches to chunks."""
        if self._is_loaded or self._is_loading:
            return
        _begin(connection)
        self._is_loading = True
        for run_id, rows in read_batches(connection).items():
            last_seq = find_last_seq(connection, run_id)
            if last_seq != CLOSED:
                missing = select_missing(rows, last_seq)
                insert_chunks(connection, run_id, last_seq + 1, missing)
        connection.execute("DELETE FROM record_batches")

    def append(self, connection: sqlite3.Connection, added: Rows) -> None:
        """Append records to their run. Raises `StorageFailed` if they do not follow its end."""
        (error,) = self.append_all(connection, [added])
        if error is not None:
            raise error

    def append_all(
        self, connection: sqlite3.Connection, group: Iterable[Rows]
    ) -> list[StorageFailed | None]:
        """Append records to their runs; return for each its error, or None.

        Records that leave a gap, repeat a number, or follow the end of the run are not stored.
        """
        self.load(connection)
        errors: list[StorageFailed | None] = []
        waiting: list[Row] = []
        for added in group:
            error = self._append(connection, added, waiting) if added.rows else None
            errors.append(error)
        if waiting:
            if self._next_batch % _TRIM_EVERY == 0:
                _begin(connection)
                self._trim(connection)
            insert_batch(connection, self._next_batch, waiting)
            self._next_batch += 1
        return errors

    def _append(
        self, connection: sqlite3.Connection, added: Rows, waiting: list[Row]
    ) -> StorageFailed | None:
        run_id, first_seq, _ = added.rows[0]
        end = self._find_end(connection, run_id)
        error = _check_order(added, end.last_seq)
        if error is not None:
            return error
        bodies = [row[2] for row in added.rows]
        pending = b"\n".join([end.pending, *bodies] if end.count else bodies)
        count = end.count + len(bodies)
        last_seq = first_seq + len(added.rows) - 1
        is_last = added.is_closing or added.is_resting
        if len(pending) < CHUNK_BYTES and not is_last:
            waiting += added.rows
            first_batch = end.first_batch or self._next_batch
            self._changed[run_id] = RunEnd(last_seq, pending, count, first_batch)
            return None
        _begin(connection)
        bodies = pending.split(b"\n")
        insert_chunks(connection, run_id, last_seq + 1 - count, bodies, is_closing=added.is_closing)
        # The end of a closed or suspended run is looked up in its last chunk: nothing of it stays
        # in memory.
        self._changed[run_id] = None if is_last else RunEnd(last_seq)
        return None

    def _find_end(self, connection: sqlite3.Connection, run_id: str) -> RunEnd:
        end = self._changed[run_id] if run_id in self._changed else self._ends.get(run_id)
        return end or RunEnd(find_last_seq(connection, run_id))

    def delete(self, connection: sqlite3.Connection, run_ids: Sequence[str]) -> None:
        """Delete all records of these runs, also those in batches."""
        for run_id in run_ids:
            self._changed[run_id] = None
        self.empty_batches(connection)
        delete_chunks(connection, run_ids)

    def empty_batches(self, connection: sqlite3.Connection) -> None:
        """Move all pending records to chunks and delete all batches, so that none has a copy."""
        self.load(connection)
        self._store_pending(connection)
        connection.execute("DELETE FROM record_batches")

    def _trim(self, connection: sqlite3.Connection) -> None:
        """Delete the batches whose records are all in chunks; at most `MAX_BATCHES` remain."""
        self._store_pending(connection, before=self._next_batch - MAX_BATCHES)
        ends = {**self._ends, **self._changed}.values()
        first = min((end.first_batch for end in ends if end and end.count), default=None)
        connection.execute(
            "DELETE FROM record_batches WHERE id < ?",
            (self._next_batch if first is None else first,),
        )

    def _store_pending(self, connection: sqlite3.Connection, before: int | None = None) -> None:
        """Store the pending records as chunks: all of them, or those in batches before an id."""
        for run_id, end in {**self._ends, **self._changed}.items():
            if end and end.count and (before is None or end.first_batch < before):
                first_seq = end.last_seq + 1 - end.count
                insert_chunks(connection, run_id, first_seq, end.pending.split(b"\n"))
                self._changed[run_id] = RunEnd(end.last_seq)

    def _accept(self) -> None:
        """The transaction was committed."""
        self._is_loaded, self._is_loading = self._is_loaded or self._is_loading, False
        for run_id, end in self._changed.items():
            if end is None:
                self._ends.pop(run_id, None)
            else:
                self._ends[run_id] = end
        self._changed.clear()

    def _discard(self) -> None:
        """The transaction was rolled back."""
        self._is_loading = False
        self._changed.clear()


def _begin(connection: sqlite3.Connection) -> None:
    """Begin a transaction, if none was begun for the group that this belongs to."""
    if not connection.in_transaction:
        connection.execute("BEGIN IMMEDIATE")


def _check_order(added: Rows, last_seq: int) -> StorageFailed | None:
    run_id, first, _ = added.rows[0]
    if last_seq == CLOSED or added.is_late:
        return StorageFailed(f"run {run_id} is closed: record {first} cannot follow")
    if first != last_seq + 1:
        return StorageFailed(f"record {first} of run {run_id} does not follow record {last_seq}")
    return None


# -- batches

# A write costs as much as twenty events, so it pays to wait for others if they are coming: on a
# quiet server there are none, and on a crowded one twice the wait saves a tenth of all CPU time. A
# batch that is large anyway gains little, and the writing of it is a wait, too.
_GATHER_S: Final = ((48, 0.003), (12, 0.008), (2, 0.004), (0, 0.001))
"""How long to wait after a batch of at least so many entries, the largest first."""


def find_gather_s(entries: int) -> float:
    """Return how long the first record waits for others, after a batch of so many entries."""
    return next(seconds for least, seconds in _GATHER_S if entries >= least)


class BatchTail:
    """The end of one run's log; see `Tail`."""

    __slots__ = ("_put", "_run_id")

    def __init__(self, batcher: Batcher, run_id: str) -> None:
        self._put = batcher.put
        self._run_id = run_id

    def put(self, records: Sequence[Record], done: Done) -> None:
        self._put(encode_rows(self._run_id, records), done)


class Batcher:
    """Collects rows in one event loop and writes them batch by batch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = RecordWriter.of(database)
        self._rows: list[Rows] = []
        self._done: list[Done] = []
        self._is_writing = False
        self._gather_s = find_gather_s(0)

    def put(self, rows: Rows, done: Done) -> None:
        """Write the rows with the next batch, and call `done` then."""
        self._rows.append(rows)
        self._done.append(done)
        if not self._is_writing:
            self._is_writing = True
            asyncio.get_running_loop().call_later(self._gather_s, self._write_batch)

    def _write_batch(self) -> None:
        rows, self._rows = self._rows, []
        done, self._done = self._done, []
        self._gather_s = find_gather_s(len(rows))
        report = partial(self._hand_over, asyncio.get_running_loop(), done)
        self._database.submit_atomic(partial(_append_group, self._writer, rows), report)

    def _hand_over(
        self,
        loop: asyncio.AbstractEventLoop,
        done: list[Done],
        errors: list[StorageFailed | None] | None,
        failure: Exception | None,
    ) -> None:
        """Runs in the writer thread: report to the event loop."""
        if failure is not None:
            _logger.error("records of %d runs cannot be written: %s", len(done), failure)
        # The loop may have been closed meanwhile.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._finish_batch, done, errors, failure)

    def _finish_batch(
        self,
        done: list[Done],
        errors: list[StorageFailed | None] | None,
        failure: Exception | None,
    ) -> None:
        if self._rows:
            self._write_batch()
        else:
            self._is_writing = False
        if errors is None:
            for call in done:
                call(failure)
            return
        for call, error in zip(done, errors, strict=True):
            call(error)


def _append_group(
    writer: RecordWriter, group: list[Rows], connection: sqlite3.Connection
) -> list[StorageFailed | None]:
    return writer.append_all(connection, group)

"""Gathers the records that many runs log at about the same time into one write of the database.

The first waiting record waits up to 3 ms for others. Records that arrive during a write are in the
next one, right after it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple, cast

from headrace.events import Record
from headrace.server.storage.database import Database, StorageFailed
from headrace.server.storage.log.log import Done
from headrace.server.storage.record_rows import (
    MAX_ROWS,
    Row,
    Rows,
    check_order,
    encode_rows,
    insert_rows,
)

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

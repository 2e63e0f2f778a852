"""Group commit: what many runs put down at about the same time becomes one transaction.

The first record that waits does so for a moment, for others to come along; what comes while
a transaction goes on waits for that one alone.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

from headrace.events import Record
from headrace.server.storage.database import Database, StorageFailed
from headrace.server.storage.log.log import Done
from headrace.server.storage.record_rows import MAX_ROWS, Row, Rows, check, insert_rows, rows_of

# A transaction for each event would cost more CPU; 5 ms is what the design allows.
_GATHER_S = 0.003


class GroupTail:
    """The end of one run's log."""

    __slots__ = ("_group", "_run_id", "last_seq")

    def __init__(self, group: Group, run_id: str) -> None:
        self._group = group
        self._run_id = run_id
        self.last_seq: int | None = None
        """As it is committed; None where that is not known. The writer's thread alone asks."""

    def put(self, records: Sequence[Record], done: Done) -> None:
        """Keep these behind what was put before."""
        self._group.put(_Entry(self, rows_of(self._run_id, records), done))


class _Entry(NamedTuple):
    tail: GroupTail
    added: Rows
    done: Done


class Group:
    """Collects what is put, in one event loop, and writes it batch after batch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Entry] = []
        self._is_writing = False

    def put(self, entry: _Entry) -> None:
        """Write it with the next batch."""
        self._waiting.append(entry)
        if not self._is_writing:
            self._is_writing = True
            asyncio.get_running_loop().call_later(_GATHER_S, self._write)

    def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        loop = asyncio.get_running_loop()
        rows = sum(len(entry.added.rows) for entry in batch)
        future = self._database.submit(partial(_insert, batch), is_atomic=rows <= MAX_ROWS)
        future.add_done_callback(partial(_tell, loop, self._written, batch))

    def _written(
        self, batch: list[_Entry], errors: list[Exception | None], failure: Exception | None
    ) -> None:
        if self._waiting:
            self._write()
        else:
            self._is_writing = False
        for entry, error in zip(batch, errors, strict=True):
            entry.done(failure or error)


# -- the writer's thread


def _insert(batch: list[_Entry], connection: sqlite3.Connection) -> list[Exception | None]:
    """Insert what follows; for each entry what is wrong with it."""
    rows: list[Row] = []
    errors: list[Exception | None] = []
    # Not kept in the tails before it is committed: this may be done again.
    lasts: dict[GroupTail, int] = {}
    for tail, added, _ in batch:
        try:
            check(connection, added, lasts.get(tail, tail.last_seq))
        except StorageFailed as error:
            errors.append(error)
            continue
        lasts[tail] = added.last_seq
        rows += added.rows
        errors.append(None)
    insert_rows(connection, rows)
    return errors


def _tell(
    loop: asyncio.AbstractEventLoop,
    written: Callable[..., None],
    batch: list[_Entry],
    future: Future[list[Exception | None]],
) -> None:
    failure = future.exception()
    errors = future.result() if failure is None else [None] * len(batch)
    for (tail, added, _), error in zip(batch, errors, strict=True):
        if failure is not None:
            tail.last_seq = None
        elif error is None:
            tail.last_seq = added.last_seq
    if not loop.is_closed():
        loop.call_soon_threadsafe(written, batch, errors, failure)

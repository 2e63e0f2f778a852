"""A SQLite file with one writer thread and several reader threads.

Group commit: the writes that wait when the writer is free become one transaction, so that a busy
server needs few commits, and an idle one waits for none. The file is in WAL mode, so readers see
what has been committed.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from headrace.errors import HeadraceError

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]

_MAX_GROUP = 512
_READERS = 4
_BUSY_MS = 5_000
# Small on purpose: the writer appends to few tables, readers look up little, and the operating
# system caches the rest.
_WRITER_CACHE_KB = 1_024
_READER_CACHE_KB = 128
# Time between two checkpoints, which move committed pages from the WAL into the database file.
_CHECKPOINT_S = 1.0
_CLOSED = "the database is closed"


class StorageFailed(HeadraceError):
    """A read or write of the database failed; nothing was changed."""


class _Job(NamedTuple):
    work: Work[Any]
    future: Future[Any]
    is_atomic: bool


class Database:
    """Opens a SQLite file and keeps it open until `close()`.

    With `is_durable`, every commit waits for the disk. Without it, a power cut may lose the last
    moments; a killed process loses nothing.
    """

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        self._path = path
        self._is_durable = is_durable
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connections = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="headrace-read")
        self.commits = 0
        """Number of transactions committed so far."""
        self._is_writer_done = False
        self._writer = threading.Thread(target=self._run_writer, name="headrace-write", daemon=True)
        self._ready: Future[None] = Future()
        self._writer.start()
        self._ready.result()
        self._is_closing = threading.Event()
        self._checkpointer = threading.Thread(
            target=self._run_checkpointer, name="headrace-checkpoint", daemon=True
        )
        self._checkpointer.start()

    async def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction and return its result after the commit.

        If `work` raises, its changes, and only those, are rolled back, and the exception is raised
        here; errors of SQLite as `StorageFailed`. `work` may run twice, of which one counts, so it
        must change nothing but the database.
        """
        return await asyncio.shield(asyncio.wrap_future(self.submit(work)))

    def submit(self, work: Work[T], *, is_atomic: bool = False) -> Future[T]:
        """Queue `work` for the writer thread, which also settles the returned future.

        `is_atomic` says that `work` changes the database with a single statement. SQLite makes
        that a transaction by itself, so no BEGIN and COMMIT are needed around it.
        """
        future: Future[T] = Future()
        self._jobs.put(_Job(work, future, is_atomic))
        if self._is_writer_done:
            self._refuse_remaining()
        return future

    async def read(self, work: Work[T]) -> T:
        """Run `work` on the connection of a reader thread. Raises `StorageFailed`."""
        if self._is_closing.is_set():
            raise StorageFailed(_CLOSED)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    async def fetch(self, query: str, parameters: Any = ()) -> list[sqlite3.Row]:
        """Return all rows of a query. Raises `StorageFailed`."""
        return await self.read(lambda connection: connection.execute(query, parameters).fetchall())

    def write_now(self, work: Work[T]) -> T:
        """Synchronous version of `write()`."""
        return self.submit(work).result()

    def close(self) -> None:
        """Finish the queued writes and close the file."""
        self._is_closing.set()
        self._checkpointer.join()
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        for connection in self._open_readers:
            connection.close()

    # -- the writer thread

    def _run_writer(self) -> None:
        try:
            connection = self._connect(_WRITER_CACHE_KB)
        except BaseException as error:  # noqa: BLE001 (raised by the constructor)
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        while group := self._next_group():
            self._execute(connection, group)
        connection.close()
        self._is_writer_done = True
        self._refuse_remaining()

    def _next_group(self) -> list[_Job]:
        """Wait for a job, and return all that wait; an empty list at the end."""
        group: list[_Job] = []
        while (job := self._jobs.get()) is not None:
            group.append(job)
            if len(group) == _MAX_GROUP or self._jobs.empty():
                return group
        if group:
            # The end is taken from the queue once more, after these.
            self._jobs.put(None)
        return group

    def _execute(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        """Run a group as one transaction; after an error, each of its jobs by itself."""
        has_transaction = len(group) > 1 or not group[0].is_atomic
        try:
            if has_transaction:
                connection.execute("BEGIN IMMEDIATE")
            results = [job.work(connection) for job in group]
            if has_transaction:
                connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 (raised to the caller)
            # On some errors, such as a full disk, SQLite has rolled back by itself:
            # https://www.sqlite.org/lang_transaction.html
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if len(group) == 1:
                group[0].future.set_exception(_to_storage_error(error))
                return
            for job in group:
                self._execute(connection, [job])
            return
        self.commits += 1
        for job, result in zip(group, results, strict=True):
            job.future.set_result(result)

    def _refuse_remaining(self) -> None:
        """Fail the jobs that were queued after the end, so that nobody waits for them."""
        with suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.future.set_exception(StorageFailed(_CLOSED))

    # -- the checkpoint thread

    def _run_checkpointer(self) -> None:
        """Move committed pages from the WAL into the database file, beside ongoing commits."""
        connection: sqlite3.Connection | None = None
        checkpointed = 0
        while True:
            commits = self.commits
            # A full disk or a long read may prevent it; the next round tries again.
            with suppress(sqlite3.Error):
                connection = connection or self._connect(_READER_CACHE_KB)
                if commits != checkpointed:
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    checkpointed = commits
            if self._is_closing.wait(_CHECKPOINT_S):
                break
        if connection is not None:
            connection.close()

    # -- connections

    def _read(self, work: Work[T]) -> T:
        try:
            return work(self._reader())
        except sqlite3.Error as error:
            raise _to_storage_error(error) from error

    def _reader(self) -> sqlite3.Connection:
        """Return the connection of the current reader thread."""
        connection: sqlite3.Connection | None = getattr(self._connections, "reader", None)
        if connection is None:
            connection = self._connect(_READER_CACHE_KB)
            connection.execute("PRAGMA query_only = ON")
            self._connections.reader = connection
            self._open_readers.append(connection)
        return connection

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        connection.execute(f"PRAGMA cache_size = -{cache_kb}")
        connection.execute("PRAGMA journal_mode = WAL")
        # An automatic checkpoint would make a commit wait for the disk.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._is_durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


def _to_storage_error(error: Exception) -> Exception:
    return StorageFailed(str(error)) if isinstance(error, sqlite3.Error) else error

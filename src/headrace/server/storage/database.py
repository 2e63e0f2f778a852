"""One SQLite file: a writer thread with group commit, and readers beside it.

What waits when the writer is free goes into one transaction, so a busy server pays for few
commits and an idle one waits for none. WAL mode; readers see what has been committed.
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
# The writer writes at the end of few tables, and readers look up little. What is not here is in
# the system's own cache.
_WRITER_CACHE_KB = 1_024
_READER_CACHE_KB = 128
# How often what was written goes from the log file into the database itself.
_CHECKPOINT_S = 1.0
_CLOSED = "the database is closed"


class StorageFailed(HeadraceError):
    """The database could not do what was asked; nothing of it was done."""


class _Job(NamedTuple):
    work: Work[Any]
    future: Future[Any]
    is_atomic: bool


class Database:
    """Opens the file and keeps it until `close()`. `is_durable` waits for the disk at every
    commit: without it, a power cut may take the last moments, a killed process nothing."""

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        self._path = path
        self._is_durable = is_durable
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connections = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="headrace-read")
        self.commits = 0
        """Transactions so far."""
        self._is_over = False
        self._writer = threading.Thread(target=self._write, name="headrace-write", daemon=True)
        self._ready: Future[None] = Future()
        self._writer.start()
        self._ready.result()
        self._is_closing = threading.Event()
        self._tidier = threading.Thread(target=self._tidy, name="headrace-tidy", daemon=True)
        self._tidier.start()

    async def write(self, work: Work[T]) -> T:
        """Do the work in a transaction; returns when it is committed. Work that raises is
        undone, and only that. It may be done more than once, of which one counts: it keeps its
        hands off everything but the connection."""
        return await asyncio.shield(asyncio.wrap_future(self.submit(work)))

    def submit(self, work: Work[T], *, is_atomic: bool = False) -> Future[T]:
        """Have the work done, and do not wait; the future is settled by the writer's thread.
        Work that writes with a single statement is a transaction by itself: where it is told
        to be `is_atomic` and is alone, it is spared another around it."""
        future: Future[T] = Future()
        self._jobs.put(_Job(work, future, is_atomic))
        if self._is_over:
            self._refuse_rest()
        return future

    async def read(self, work: Work[T]) -> T:
        """Do the work on a reader's connection."""
        if self._is_closing.is_set():
            raise StorageFailed(_CLOSED)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._with_reader, work)

    def write_now(self, work: Work[T]) -> T:
        """`write` for code that does not wait."""
        return self.submit(work).result()

    def close(self) -> None:
        """Finish what waits, and let go of the file."""
        self._is_closing.set()
        self._tidier.join()
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        for connection in self._open:
            connection.close()

    # -- the writer's thread

    def _write(self) -> None:
        try:
            connection = self._connect(_WRITER_CACHE_KB)
        except BaseException as error:  # noqa: BLE001 (it is told to whoever opens)
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        is_over = False
        while not is_over:
            group, is_over = self._group()
            if len(group) == 1 and group[0].is_atomic:
                self._do_alone(connection, group[0])
            elif group:
                self._commit(connection, group)
        connection.close()
        self._is_over = True
        self._refuse_rest()

    def _refuse_rest(self) -> None:
        """Whoever asks after the end is told so, and never left to wait."""
        with suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.future.set_exception(StorageFailed(_CLOSED))

    def _group(self) -> tuple[list[_Job], bool]:
        """All that waits, up to a bound; at least one."""
        job = self._jobs.get()
        group: list[_Job] = []
        while job is not None:
            group.append(job)
            if len(group) >= _MAX_GROUP or self._jobs.empty():
                return group, False
            job = self._jobs.get()
        return group, True

    def _do_alone(self, connection: sqlite3.Connection, job: _Job) -> None:
        """Without words around it: each would let go of the interpreter and wait for it."""
        try:
            result = job.work(connection)
        except Exception as error:  # noqa: BLE001 (it belongs to whoever asked)
            job.future.set_exception(_named(error))
            return
        self.commits += 1
        job.future.set_result(result)

    def _commit(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        done: list[tuple[Future[Any], Any]] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            for work, future, _ in group:
                try:
                    done.append((future, self._done(connection, work)))
                except Exception as error:  # noqa: BLE001 (it belongs to whoever asked)
                    future.set_exception(_named(error))
                    if not connection.in_transaction:
                        self._redo(connection, group)
                        return
            connection.execute("COMMIT")
            self.commits += 1
        except sqlite3.Error as error:
            self._undo(connection)
            for future, _ in done:
                future.set_exception(_named(error))
            for _, future, _ in group:
                if not future.done():
                    future.set_exception(_named(error))
            return
        for future, result in done:
            future.set_result(result)

    def _done(self, connection: sqlite3.Connection, work: Work[T]) -> T:
        connection.execute("SAVEPOINT job")
        try:
            result = work(connection)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK TO job")
                connection.execute("RELEASE job")
            raise
        connection.execute("RELEASE job")
        return result

    def _redo(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        """One job has cost all of them their transaction, as on a full disk
        (https://www.sqlite.org/lang_transaction.html): each of the others gets its own."""
        for job in group:
            if not job.future.done():
                self._commit(connection, [job])

    def _undo(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    # -- the tidier's thread

    def _tidy(self) -> None:
        """Move what was committed into the database, beside the commits that go on."""
        connection: sqlite3.Connection | None = None
        done = 0
        while True:
            commits = self.commits
            # A disk that is full, a reader that is in the way: the next time, then.
            with suppress(sqlite3.Error):
                connection = connection or self._connect(_READER_CACHE_KB)
                if commits != done:
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    done = commits
            if self._is_closing.wait(_CHECKPOINT_S):
                break
        if connection is not None:
            connection.close()

    # -- connections

    def _with_reader(self, work: Work[T]) -> T:
        try:
            return work(self._reader())
        except sqlite3.Error as error:
            raise _named(error) from error

    def _reader(self) -> sqlite3.Connection:
        """This thread's own."""
        connection: sqlite3.Connection | None = getattr(self._connections, "reader", None)
        if connection is None:
            connection = self._connect(_READER_CACHE_KB)
            connection.execute("PRAGMA query_only = ON")
            self._connections.reader = connection
            self._open.append(connection)
        return connection

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        connection.execute(f"PRAGMA cache_size = -{cache_kb}")
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit would wait for its checkpoint, and that for the disk: another thread makes it.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._is_durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


def _named(error: Exception) -> Exception:
    return StorageFailed(str(error)) if isinstance(error, sqlite3.Error) else error

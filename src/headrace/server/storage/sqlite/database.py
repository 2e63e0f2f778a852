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
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from headrace.errors import UsageError
from headrace.log import get_logger
from headrace.server.storage.errors import SearchFailed, StorageFailed
from headrace.server.storage.sqlite.checkpointer import Checkpointer
from headrace.server.storage.sqlite.connection import READER_CACHE_KB, WRITER_CACHE_KB, connect
from headrace.server.storage.sqlite.database_file import prepare_file

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]

_MAX_GROUP = 512
_READERS = 4
# Searches have threads of their own, so that nothing else waits for them.
_SEARCHERS = 2
_MAX_SEARCHES = 32
_PROGRESS_STEPS = 1_000
# Time between two attempts to open the file again after the writer has lost its connection.
_RECONNECT_S = 0.5
_CLOSED = "the database is closed"
_logger = get_logger("server")


Report: TypeAlias = Callable[[T | None, Exception | None], None]
"""Called in the writer thread with the result of work, or with what failed. Must not raise."""


class _ReportFuture:
    """Passes the result of one job on. A `Future`, with its lock and condition, costs a tenth of a
    small write."""

    __slots__ = ("_is_done", "_report")

    def __init__(self, report: Report[Any]) -> None:
        self._report = report
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def set_result(self, result: Any) -> None:
        self._is_done = True
        self._report(result, None)

    def set_exception(self, error: Exception) -> None:
        self._is_done = True
        self._report(None, error)


class _Job(NamedTuple):
    work: Work[Any]
    future: Future[Any] | _ReportFuture
    is_atomic: bool = False
    is_alone: bool = False


class Database:
    """Opens a SQLite file and keeps it open until `close()`.

    With `is_durable`, every commit waits for the disk. Without it, a power cut may lose the last
    moments; a killed process loses nothing. Raises `UsageError` if the file cannot be used.
    """

    def __init__(self, path: Path, *, is_durable: bool = False) -> None:
        prepare_file(path)
        self.path = path
        self._is_durable = is_durable
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        # A job that was taken from the queue too early: it must not be in the same group.
        self._held: _Job | None = None
        self._connections = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="headrace-read")
        self._searchers = ThreadPoolExecutor(_SEARCHERS, thread_name_prefix="headrace-search")
        self._searches = 0
        self.has_deleted = False
        """Whether something was deleted that `Housekeeping` has to erase from the files."""
        self.commits = 0
        """Number of transactions committed so far."""
        self.on_commit: Callable[[], None] | None = None
        """Called in the writer thread after every commit, before callers get their results."""
        self.on_rollback: Callable[[], None] | None = None
        """Called in the writer thread after every rollback."""
        # When the transaction that is being written has begun; None between transactions.
        self._writing_since_s: float | None = None
        self.problem = ""
        """Why all writes fail, or empty. A removed file stays a problem until a restart."""
        self._checkpointer = Checkpointer(
            path, lambda: self._connect(READER_CACHE_KB), self.submit_alone, lambda: self.commits
        )
        self._is_closing = threading.Event()
        self._is_writer_done = False
        self._writer = threading.Thread(target=self._run_writer, name="headrace-write", daemon=True)
        self._ready: Future[None] = Future()
        self._writer.start()
        try:
            self._ready.result()
        except sqlite3.Error as error:
            raise UsageError(f"cannot open {path}: {error}") from None
        self._checkpointer.start()

    @property
    def waiting_writes(self) -> int:
        """Number of writes that wait for the writer thread."""
        return self._jobs.qsize()

    @property
    def write_lag_s(self) -> float:
        """Seconds that the current transaction has taken so far, or 0 if nothing is written."""
        since_s = self._writing_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    async def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction and return its result after the commit.

        If `work` raises, its changes, and only those, are rolled back, and the exception is raised
        here; errors of SQLite as `StorageFailed`. `work` may run twice, of which one counts, so it
        must change nothing but the database.
        """
        return await asyncio.shield(asyncio.wrap_future(self.submit(work)))

    def submit(self, work: Work[T]) -> Future[T]:
        """Queue `work` for the writer thread, which also settles the returned future."""
        future: Future[T] = Future()
        self._put(_Job(work, future))
        return future

    def submit_atomic(self, work: Work[T], report: Report[T]) -> None:
        """Queue `work` that changes the database with a single statement, or begins a transaction
        by itself: a single statement needs no BEGIN and COMMIT around it. `report` is called in the
        writer thread after the commit."""
        self._put(_Job(work, _ReportFuture(report), is_atomic=True))

    def submit_alone(self, work: Work[T]) -> Future[T]:
        """Queue `work` for the writer thread, to run outside of any transaction."""
        future: Future[T] = Future()
        self._put(_Job(work, future, is_atomic=True, is_alone=True))
        return future

    def _put(self, job: _Job) -> None:
        self._jobs.put(job)
        if self._is_writer_done:
            self._refuse_remaining()

    async def read(self, work: Work[T]) -> T:
        """Run `work` on the connection of a reader thread. Raises `StorageFailed`.

        It should be short: the WAL cannot be reset while it reads.
        """
        if self._is_closing.is_set():
            raise StorageFailed(_CLOSED)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    async def search(self, work: Work[T], timeout_s: float) -> T:
        """Run `work` as `read()` does, but in a pool of its own and for a limited time.

        Raises `SearchFailed` after the timeout, or if too many searches are waiting.
        """
        if self._is_closing.is_set():
            raise StorageFailed(_CLOSED)
        if self._searches >= _MAX_SEARCHES:
            raise SearchFailed("too many searches at once: try again soon")
        self._searches += 1
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._searchers, self._search, work, timeout_s)
        future.add_done_callback(self._end_search)
        return await asyncio.shield(future)

    def _end_search(self, future: asyncio.Future[Any]) -> None:
        self._searches -= 1
        if not future.cancelled():
            future.exception()  # marks it as retrieved, if the client has left

    async def fetch(self, query: str, parameters: Any = ()) -> list[sqlite3.Row]:
        """Return all rows of a query. Raises `StorageFailed`."""
        return await self.read(lambda connection: connection.execute(query, parameters).fetchall())

    def write_now(self, work: Work[T]) -> T:
        """Synchronous version of `write()`."""
        return self.submit(work).result()

    def truncate_wal(self) -> bool:
        """Empty the WAL. Return False if a reader prevents it now."""
        return self._checkpointer.truncate()

    def close(self) -> None:
        """Finish the queued writes and close the file."""
        self._is_closing.set()
        self._checkpointer.close()
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        self._searchers.shutdown()
        for connection in self._open_readers:
            connection.close()

    # -- the writer thread

    def _run_writer(self) -> None:
        try:
            connection: sqlite3.Connection | None = self._connect(WRITER_CACHE_KB)
        except BaseException as error:  # noqa: BLE001 (raised by the constructor)
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        identity = _identify(self.path)
        while group := self._next_group():
            self._writing_since_s = time.monotonic()
            if connection is None:
                connection = self._reconnect()
            # Without this, SQLite would go on to write to files that nobody can open any more.
            if connection is not None and _identify(self.path) != identity:
                self.problem = "the database file was removed or replaced"
            if connection is None or self.problem:
                _fail(group, StorageFailed(self.problem or "the database cannot be opened"))
                group.clear()
                continue
            try:
                self._execute(connection, group)
            except BaseException as error:
                # Not even a rollback was possible, for example because memory has run out. The
                # connection is in an unknown state: closing it rolls back.
                _logger.exception("the connection to the database is lost")
                self._drop(connection, group, error)
                connection = None
            # The jobs have the runs that wrote them, which would stay in memory until the next job.
            group.clear()
        if connection is not None:
            connection.close()
        self._is_writer_done = True
        self._refuse_remaining()

    def _drop(
        self, connection: sqlite3.Connection, group: list[_Job], error: BaseException
    ) -> None:
        with suppress(sqlite3.Error, MemoryError):
            connection.close()
        if self.on_rollback is not None:
            self.on_rollback()
        _fail(group, StorageFailed(f"the connection to the database is lost: {error!r}"))

    def _reconnect(self) -> sqlite3.Connection | None:
        """Open the file again; return None, after a pause, if that is not possible now."""
        try:
            connection = self._connect(WRITER_CACHE_KB)
        except (sqlite3.Error, MemoryError) as error:
            _logger.warning("the database cannot be opened: %s", error)
            self._is_closing.wait(_RECONNECT_S)
            return None
        return connection

    def _next_group(self) -> list[_Job]:
        """Wait for a job, and return all that wait; an empty list at the end."""
        self._writing_since_s = None
        group: list[_Job] = []
        while (job := self._take()) is not None:
            if job.is_alone and group:
                self._held = job
                return group
            group.append(job)
            if job.is_alone or len(group) == _MAX_GROUP or self._jobs.empty():
                return group
        if group:
            # The end is taken from the queue once more, after these.
            self._jobs.put(None)
        return group

    def _take(self) -> _Job | None:
        held, self._held = self._held, None
        return held or self._jobs.get()

    def _execute(self, connection: sqlite3.Connection, group: list[_Job]) -> None:
        """Run a group as one transaction; after an error, each of its jobs by itself."""
        try:
            if len(group) > 1 or not group[0].is_atomic:
                connection.execute("BEGIN IMMEDIATE")
            results = [job.work(connection) for job in group]
            if connection.in_transaction:
                connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 (raised to the caller)
            # On some errors, such as a full disk, SQLite has rolled back by itself:
            # https://www.sqlite.org/lang_transaction.html
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if self.on_rollback is not None:
                self.on_rollback()
            if len(group) == 1:
                group[0].future.set_exception(_to_storage_error(error))
                return
            for job in group:
                self._execute(connection, [job])
            return
        if not group[0].is_alone:
            self.commits += 1
        if self.on_commit is not None:
            self.on_commit()
        for job, result in zip(group, results, strict=True):
            job.future.set_result(result)
        self._checkpointer.enforce_limit(connection)

    def _refuse_remaining(self) -> None:
        """Fail the jobs that were queued after the end, so that nobody waits for them."""
        with suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.future.set_exception(StorageFailed(_CLOSED))

    # -- connections

    def _read(self, work: Work[T]) -> T:
        try:
            return work(self._reader())
        except sqlite3.Error as error:
            raise _to_storage_error(error) from error

    def _search(self, work: Work[T], timeout_s: float) -> T:
        try:
            connection = self._reader()
        except sqlite3.Error as error:
            raise _to_storage_error(error) from error
        until_s = time.monotonic() + timeout_s
        connection.set_progress_handler(lambda: int(time.monotonic() > until_s), _PROGRESS_STEPS)
        try:
            return work(connection)
        except sqlite3.Error as error:
            if time.monotonic() > until_s:
                raise SearchFailed("the search took too long: use other words") from None
            raise _to_storage_error(error) from error
        finally:
            connection.set_progress_handler(None, 0)

    def _reader(self) -> sqlite3.Connection:
        """Return the connection of the current reader thread."""
        connection: sqlite3.Connection | None = getattr(self._connections, "reader", None)
        if connection is None:
            connection = self._connect(READER_CACHE_KB)
            connection.execute("PRAGMA query_only = ON")
            self._connections.reader = connection
            self._open_readers.append(connection)
        return connection

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        return connect(self.path, cache_kb, is_durable=self._is_durable)


def _identify(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same path, or None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _fail(group: list[_Job], error: StorageFailed) -> None:
    for job in group:
        if not job.future.done():
            job.future.set_exception(error)


def _to_storage_error(error: Exception) -> Exception:
    return StorageFailed(str(error)) if isinstance(error, sqlite3.Error) else error

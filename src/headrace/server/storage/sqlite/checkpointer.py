"""Checkpoints: they move committed pages from the WAL into the database file.

SQLite's automatic checkpoints (`wal_autocheckpoint`) would run inside of commits, which would then
wait for the disk. A thread of its own makes PASSIVE checkpoints instead, beside ongoing commits.
Those alone would let the WAL grow forever under load: SQLite writes it from the beginning again
only when every page has been moved, and there is always a new one. So when the WAL has reached
`WAL_RESTART_BYTES`, the writer makes a RESTART checkpoint between two transactions. It moves the
few pages that were committed since the last PASSIVE one. A reader can only delay it while it reads,
and reads are short. If writes are faster than this thread, the writer does the same after the
commit that makes the file larger than `WAL_MAX_BYTES`. When nothing is written for a while, the
file is truncated.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from headrace.errors import HeadraceError

WAL_RESTART_BYTES: Final = 12 * 1024 * 1024
"""Size of the WAL at which it is written from the beginning again."""
WAL_MAX_BYTES: Final = 40 * 1024 * 1024
"""Size of the WAL file at which the writer waits for a checkpoint."""
CHECKPOINT_S: Final = 1.0
"""Time between two checkpoints."""
_TICK_S = 0.1
# A busy writer gets its next checkpoint after this many commits, at the next tick.
_MAX_COMMITS = 1_000
_IDLE_S = 3.0
# Time that the writer waits for readers; it tries again at the next tick.
_WAIT_MS = 50
_FRAME_HEADER_BYTES = 24


class Checkpointer:
    """Runs checkpoints in its own thread until `close()`.

    `submit_alone` runs a function in the writer thread outside of transactions; `count_commits`
    returns the number of commits so far.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], sqlite3.Connection],
        submit_alone: Callable[[Callable[[sqlite3.Connection], Any]], Future[Any]],
        count_commits: Callable[[], int],
    ) -> None:
        self._wal = path.with_name(path.name + "-wal")
        self._connect = connect
        self._submit_alone = submit_alone
        self._count_commits = count_commits
        self._connection: sqlite3.Connection | None = None
        self._is_closing = threading.Event()
        self._checkpointed = 0
        self._checkpointed_s = self._changed_s = time.monotonic()
        self._is_truncated = True
        self._retry_s = 0.0
        # Held during a PASSIVE checkpoint: SQLite refuses another one instead of waiting.
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="headrace-checkpoint", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._is_closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_closing.wait(_TICK_S):
            # A full disk or a long read may prevent it; the next round tries again.
            with suppress(sqlite3.Error, HeadraceError, MemoryError):
                self._connection = self._connection or self._connect()
                self._check(self._connection, time.monotonic())
        if self._connection is not None:
            self._connection.close()

    def _check(self, connection: sqlite3.Connection, now_s: float) -> None:
        commits = self._count_commits()
        if commits != self._checkpointed:
            self._changed_s = now_s
            is_due = now_s - self._checkpointed_s >= CHECKPOINT_S
            if is_due or commits - self._checkpointed >= _MAX_COMMITS:
                self._checkpoint(connection, commits)
                self._checkpointed_s = now_s
        elif not self._is_truncated and now_s - self._changed_s >= _IDLE_S:
            self._is_truncated = self._run_in_writer("TRUNCATE")

    def _checkpoint(self, connection: sqlite3.Connection, commits: int) -> None:
        with self._lock:
            row = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        self._checkpointed, self._is_truncated = commits, False
        if row[1] * (page_size + _FRAME_HEADER_BYTES) >= WAL_RESTART_BYTES:
            self._run_in_writer("RESTART")

    def truncate(self) -> bool:
        """Move everything into the database file and empty the WAL. Return False if a reader or
        another process prevents it now."""
        return self._run_in_writer("TRUNCATE")

    def _run_in_writer(self, mode: str) -> bool:
        """Run a checkpoint in the writer thread; return whether it was complete."""
        future = self._submit_alone(lambda writer: _checkpoint(writer, mode))
        while not self._is_closing.is_set():
            with suppress(TimeoutError):
                return bool(future.result(_TICK_S))
        return False

    def enforce_limit(self, writer: sqlite3.Connection) -> None:
        """Reset the WAL if its file is too large. Runs in the writer thread after each commit."""
        if self.wal_bytes < WAL_MAX_BYTES:
            return
        now_s = time.monotonic()
        if now_s < self._retry_s:
            return
        with suppress(sqlite3.Error), self._lock:
            if not _checkpoint(writer, "RESTART"):
                # A long read, of a backup for example, must not make every commit wait.
                self._retry_s = now_s + _TICK_S

    @property
    def wal_bytes(self) -> int:
        """Size of the WAL file."""
        try:
            return os.stat(self._wal).st_size
        except FileNotFoundError:
            return 0


def _checkpoint(writer: sqlite3.Connection, mode: str) -> bool:
    """Make a checkpoint; return whether it was complete."""
    (busy_ms,) = writer.execute("PRAGMA busy_timeout").fetchone()
    writer.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
    try:
        return not writer.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0]
    finally:
        writer.execute(f"PRAGMA busy_timeout = {busy_ms}")

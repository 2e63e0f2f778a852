"""Connections to the database file, all with the same settings."""

from __future__ import annotations

import sqlite3
from pathlib import Path

# Small on purpose: the writer appends to few tables, readers look up little, and the operating
# system caches the rest.
WRITER_CACHE_KB = 256
READER_CACHE_KB = 128
WAL_KEPT_BYTES = 16 * 1024 * 1024
"""Size to which SQLite cuts the WAL file when it starts to write it from the beginning again."""
_BUSY_MS = 5_000


def connect(path: Path, cache_kb: int, *, is_durable: bool = False) -> sqlite3.Connection:
    """Open the file. Raises `sqlite3.Error`."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    for pragma in (
        f"busy_timeout = {_BUSY_MS}",
        f"cache_size = -{cache_kb}",
        "journal_mode = WAL",
        # An automatic checkpoint would make a commit wait for the disk: see `Checkpointer`.
        "wal_autocheckpoint = 0",
        f"journal_size_limit = {WAL_KEPT_BYTES}",
        f"synchronous = {'FULL' if is_durable else 'NORMAL'}",
        "foreign_keys = ON",
        # Temporary files would need another writable folder, and descriptors.
        "temp_store = MEMORY",
        # Deleted content is overwritten with zeros.
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection

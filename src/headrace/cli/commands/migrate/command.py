"""Runs `headrace migrate`: copies a data folder into a PostgreSQL database."""

from __future__ import annotations

import sqlite3
import sys
from argparse import Namespace
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from headrace.cli.option import data_folder
from headrace.cli.store_option import call_store, find_store, show_store
from headrace.errors import UsageError

if TYPE_CHECKING:
    from headrace.server.storage.postgres.pool import Pool


def run(options: Namespace) -> int:
    """Copy the folder, and print how much there was."""
    from headrace.server.storage.data_folder import DataFolder
    from headrace.server.storage.log import SQLiteLog
    from headrace.server.storage.sqlite.database import Database
    from headrace.server.storage.store import SQLiteStore

    store = find_store(options.store)
    if store is None:
        raise UsageError("give the database with --store")
    path = data_folder(options.data) / "headrace.db"
    if not path.exists():
        raise UsageError(f"there is no database at {path}: give the folder with --data")
    # Refuses a folder that a server is using.
    folder = DataFolder(path.parent)
    try:
        database = Database(path)
        try:
            # Brings older tables up to date, and gathers the records that a kill has left apart.
            SQLiteStore(database)
            SQLiteLog(database)
        finally:
            database.close()
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source:
            counts = call_store(store, partial(_copy, source))
    finally:
        folder.close()
    print(
        f"{counts['conversations']} conversations, {counts['messages']} messages and"
        f" {counts['runs']} answers are in {show_store(store)}"
    )
    return 0


async def _copy(source: sqlite3.Connection, pool: Pool) -> dict[str, int]:
    from headrace.server.storage.postgres.copy import copy_database

    return await copy_database(source, pool, _print_progress)


def _print_progress(table: str, rows: int) -> None:
    print(f"{table}: {rows:,} rows", file=sys.stderr, flush=True)

"""Erases deleted content from the files of the database, beside ongoing work.

SQLite overwrites deleted rows (`secure_delete`), but more is left: terms in the search index, which
FTS5 removes only when it merges its parts; pages in the WAL; and free pages, which keep the file
large. Each step below is short, because all streams wait for the writer.
"""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from typing import Final

from headrace.server.storage.sqlite.database import Database
from headrace.server.storage.store.deletion import delete_slice, find_hidden

_MERGE_PAGES: Final = 100
_VACUUM_PAGES: Final = 200
_PAUSE_S: Final = 0.005
_RETRY_S: Final = 0.1
_MAX_RETRIES: Final = 50
# Few free pages are used again soon; moving pages only to get rid of them would be wasted.
_MIN_FREE_PAGES: Final = 256


class Housekeeping:
    """Finishes deletions, then merges, shrinks and truncates, if something was deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # A server that was killed may have left something.
        database.has_deleted = True

    async def run(self) -> bool:
        """Erase what was deleted since the last call; return whether there was something."""
        database = self._database
        if not database.has_deleted:
            return False
        database.has_deleted = False
        try:
            await self._finish_deletions()
            for index in ("word_index", "title_index"):
                await self._merge(index)
            await self._shrink()
            await self._truncate()
        except BaseException:
            database.has_deleted = True
            raise
        return True

    async def _finish_deletions(self) -> None:
        for conversation_id in await self._database.read(find_hidden):
            work = partial(delete_slice, conversation_id=conversation_id)
            while not await self._database.write(work):
                await asyncio.sleep(_PAUSE_S)

    async def _merge(self, index: str) -> None:
        """Merge all parts of a search index into one, which has no deleted terms."""

        def work(connection: sqlite3.Connection, pages: int) -> bool:
            before = connection.total_changes
            connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
            # By the documentation of FTS5, a merge that changes less has had nothing to do.
            return connection.total_changes - before >= 2

        # A negative number begins a merge of everything; positive ones continue it.
        has_more = await self._database.write(lambda c: work(c, -_MERGE_PAGES))
        while has_more:
            await asyncio.sleep(_PAUSE_S)
            has_more = await self._database.write(lambda c: work(c, _MERGE_PAGES))

    async def _shrink(self) -> None:
        """Give free pages back to the file system."""
        while await self._database.write(_vacuum_some):
            await asyncio.sleep(_PAUSE_S)

    async def _truncate(self) -> None:
        """Empty the WAL, as soon as no reader needs it."""
        for _ in range(_MAX_RETRIES):
            if await asyncio.to_thread(self._database.truncate_wal):
                return
            await asyncio.sleep(_RETRY_S)
        self._database.has_deleted = True


def _vacuum_some(connection: sqlite3.Connection) -> bool:
    """Free some pages; return whether there are more."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    if mode != 2 or free < _MIN_FREE_PAGES:
        return False
    # Once for each page: SQLite frees one with each step, and `sqlite3` takes only the first.
    for _ in range(_VACUUM_PAGES):
        connection.execute("PRAGMA incremental_vacuum(1)")
    return int(free) - _VACUUM_PAGES >= _MIN_FREE_PAGES

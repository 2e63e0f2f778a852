"""Whether the storage works: a write that is tried now and then, and a check after a kill."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import Final

from headrace.errors import UsageError
from headrace.log import get_logger
from headrace.server.storage.data_folder import DataFolder
from headrace.server.storage.errors import StorageFailed
from headrace.server.storage.inspection import check_integrity
from headrace.server.storage.sqlite.database import Database

CHECK_INTERVAL_S: Final = 1.0
"""Time for which the result of a check is used again."""
_WRITE_S: Final = 5.0
_INTEGRITY_S: Final = 10.0
_logger = get_logger("server")


class Health:
    """Checks whether the data folder is there and the database can be written."""

    def __init__(self, folder: DataFolder, database: Database, clock: Callable[[], int]) -> None:
        self._folder = folder
        self._database = database
        self._clock = clock
        self._checked_s = float("-inf")
        self._problem = ""
        self._lock = asyncio.Lock()

    async def find_problem(self) -> str:
        """Return what is wrong with the storage, or an empty string."""
        async with self._lock:
            if time.monotonic() - self._checked_s >= CHECK_INTERVAL_S:
                self._problem = await self._check()
                self._checked_s = time.monotonic()
        return self._problem

    async def _check(self) -> str:
        problem = self._folder.find_problem() or self._database.problem
        if problem:
            return problem
        now_ms = self._clock()
        try:
            async with asyncio.timeout(_WRITE_S):
                await self._database.write(
                    lambda c: c.execute("REPLACE INTO health VALUES (1, ?)", (now_ms,))
                )
        except TimeoutError:
            return f"the database does not finish a write within {_WRITE_S:.0f} s"
        except StorageFailed as error:
            _logger.warning("a test write to the database failed: %s", error)
            return "the database cannot be written; the server's log says why"
        return ""


def check_after_kill(database: Database) -> None:
    """Check the pages of the file, for some seconds at most.

    Raises `UsageError` if it is damaged.
    """

    def work(connection: sqlite3.Connection) -> str | None:
        return check_integrity(connection, _INTEGRITY_S)

    try:
        result = database.submit_alone(work).result()
    except StorageFailed as error:
        result = str(error)
    if result is None:
        _logger.warning("the database is too large to be checked in %.0f s", _INTEGRITY_S)
    elif result != "ok":
        database.close()
        raise UsageError(
            f"{database.path} is damaged ({result}): restore it from a copy, or move it away"
        )

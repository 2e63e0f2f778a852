"""Notices jumps of the system clock, so that nothing expires because of a wrong time."""

from __future__ import annotations

import sqlite3
from typing import Final

from headrace.log import get_logger
from headrace.server.storage.sqlite.database import Database

MAX_GAP_MS: Final = 24 * 3_600_000
"""Longest time between two checks that is not taken for a jump of the clock."""
HOLD_MS: Final = 24 * 3_600_000
"""Time after a jump until the clock is trusted again."""
# Rows of the table `health`.
_SEEN_ROW = 2
_HOLD_ROW = 3
_logger = get_logger("server")


class ClockCheck:
    """Compares the clock with the time of the last check, which is stored in the database.

    After a jump forward the clock is not trusted for a day, so that an operator who reads the
    warning can set it right. A server that was off for more than a day cannot be told from one with
    a wrong clock: there, expiry waits for a day too. A clock that goes back ends the wait.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def is_trusted(self, now_ms: int) -> bool:
        """Note the time, and return whether expiry may go by it."""
        return await self._database.write(lambda connection: _check(connection, now_ms))


def _check(connection: sqlite3.Connection, now_ms: int) -> bool:
    rows = connection.execute("SELECT id, checked_ms FROM health").fetchall()
    times: dict[int, int] = {row["id"]: row["checked_ms"] for row in rows}
    seen_ms, hold_ms = times.get(_SEEN_ROW, now_ms), times.get(_HOLD_ROW)
    if now_ms < seen_ms:
        hold_ms = None
    elif hold_ms is not None and now_ms >= hold_ms:
        # The clock has stayed ahead for the whole time, whether or not the server ran.
        hold_ms = None
    elif hold_ms is None and now_ms - seen_ms > MAX_GAP_MS:
        hold_ms = now_ms + HOLD_MS
        _logger.warning(
            "the clock is %.1f hours ahead of the last time that this server was running: old"
            " records are kept for another day, in case the clock is wrong",
            (now_ms - seen_ms) / 3_600_000,
        )
    connection.execute("REPLACE INTO health VALUES (?, ?)", (_SEEN_ROW, now_ms))
    if hold_ms is None:
        connection.execute("DELETE FROM health WHERE id = ?", (_HOLD_ROW,))
    else:
        connection.execute("REPLACE INTO health VALUES (?, ?)", (_HOLD_ROW, hold_ms))
    return hold_ms is None

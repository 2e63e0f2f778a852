"""What happens while a database or a log cannot be reached: work waits for it, for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from headrace.log import get_logger
from headrace.server.storage.errors import StorageFailed

T = TypeVar("T")
OUTAGE_S: Final = 30.0
"""Longest time that runs wait for a database or a log that cannot be reached."""
FIRST_RETRY_S: Final = 0.1
"""Time after which a write is repeated for the first time; later ones wait longer."""
MAX_RETRY_S: Final = 1.0
"""Longest time between two attempts."""
_logger = get_logger("server")


class ConnectionLost(StorageFailed):
    """The database or the log cannot be reached now. Whether a write that was under way has been
    stored is not known."""


async def retry(work: Callable[[], Awaitable[T]], place: str = "the database") -> T:
    """Do some work that may be repeated, again and again while `place` cannot be reached, for
    `OUTAGE_S` at most. Then the last `ConnectionLost` is raised."""
    loop = asyncio.get_running_loop()
    until_s, pause_s = loop.time() + OUTAGE_S, FIRST_RETRY_S
    while True:
        try:
            return await work()
        except ConnectionLost as error:
            if loop.time() + pause_s > until_s:
                raise
            _logger.warning("waiting for %s: %s", place, error)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_RETRY_S)

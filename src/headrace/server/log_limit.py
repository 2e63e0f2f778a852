"""Limits how much a server logs when the same thing goes wrong again and again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

_PER_MINUTE = 60
_NAMES = (
    "uvicorn.error",
    "asyncio",
    *(f"headrace.{layer}" for layer in ("wire", "transport", "turn", "engine", "server")),
)


class LogLimit(logging.Filter):
    """Passes at most `per_minute` warnings and errors a minute, and then says how many it has
    dropped. Other records pass."""

    def __init__(
        self, per_minute: int = _PER_MINUTE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._per_minute = per_minute
        self._clock = clock
        self._since_s = clock()
        self._passed = 0
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        if record.levelno < logging.WARNING:
            return True
        now_s = self._clock()
        if now_s - self._since_s >= 60.0:
            if self._dropped:
                record.msg = f"{record.getMessage()} ({self._dropped} log lines were left out)"
                record.args = ()
            self._since_s, self._passed, self._dropped = now_s, 0, 0
        self._passed += 1
        self._dropped += self._passed > self._per_minute
        return self._passed <= self._per_minute


@contextmanager
def limit_logs() -> Generator[None]:
    """Limit the loggers that a stranger's requests can make talk, until the block is left. Each has
    a limit of its own, so that none can hide what another says."""
    limits = {logging.getLogger(name): LogLimit() for name in _NAMES}
    for logger, limit in limits.items():
        logger.addFilter(limit)
    try:
        yield
    finally:
        for logger, limit in limits.items():
            logger.removeFilter(limit)

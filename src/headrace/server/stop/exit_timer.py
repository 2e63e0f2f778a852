"""Ends a process that does not end by itself, because a thread or a coroutine keeps it alive."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from headrace.log import get_logger

_logger = get_logger("server")
_CLEAN_UP_S = 3.0


class ExitTimer:
    """Ends the process when its time is up. `set()` may be called from a signal handler, and again
    to change the time.

    `clean_up` is called first if the status is not 0, in a thread of its own and for a limited
    time, because what keeps the process alive may block it too.
    """

    def __init__(self, clean_up: Callable[[], None]) -> None:
        self._clean_up = clean_up
        self._deadline_s = 0.0
        self._status = 0
        self._thread: threading.Thread | None = None

    def set(self, seconds: float, status: int) -> None:
        """End the process with this status if it has not ended after this time."""
        self._deadline_s, self._status = time.monotonic() + seconds, status
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headrace-exit", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (left_s := self._deadline_s - time.monotonic()) > 0:
            time.sleep(min(left_s, 0.1))
        if self._status:
            _logger.error("the server did not stop in time: the process is ended")
            cleaning = threading.Thread(target=self._clean_up, daemon=True)
            cleaning.start()
            cleaning.join(_CLEAN_UP_S)
        with suppress(Exception):
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(self._status)

"""Timeouts that do not count time in which the process was stopped, such as by SIGSTOP, Ctrl-Z or
the sleep of a laptop: bytes that arrived meanwhile could not be read."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Self

PAUSE_S: Final = 1.0
"""A timer that is called later than this was held up by a pause of the process."""
_MAX_EXTENSION_S: Final = 60.0


def find_pause_s(now_s: float, due_s: float) -> float:
    """Return how long a timer was held up by a pause of the process; 0 if it was not."""
    late_s = now_s - due_s
    return late_s if late_s > PAUSE_S else 0.0


class PauseAwareTimeout:
    """Like `asyncio.timeout_at()`, but if the process was paused when the time was up, the block
    gets as much time again as the timer was late, up to a minute. Without a time there is no limit.

    Raises `TimeoutError` only after the event loop has passed on what had arrived before.
    """

    def __init__(self, when_s: float | None) -> None:
        self._due_s = when_s
        self._timeout = asyncio.timeout(None)
        self._timer: asyncio.Handle | None = None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._set_timer()
        return self

    async def __aexit__(self, *error: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(*error)

    def _set_timer(self) -> None:
        if self._due_s is not None:
            self._timer = asyncio.get_running_loop().call_at(self._due_s, self._check)

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._due_s is not None
        pause_s = find_pause_s(loop.time(), self._due_s)
        if pause_s:
            self._due_s = loop.time() + min(pause_s, _MAX_EXTENSION_S)
            self._set_timer()
        else:
            # A reader whose data came in this round of the event loop runs in the next one.
            self._timer = loop.call_soon(self._expire)

    def _expire(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time())

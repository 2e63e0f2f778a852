"""`Timers`: the time limits of a run, which do not run while the run only waits for input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from headrace.outcome import FinishReason, abort_reason


class Timers:
    """Time limits. `stop` is called with the reason when one is exceeded."""

    __slots__ = ("_running", "_stop")

    def __init__(self, stop: Callable[[FinishReason], None]) -> None:
        self._stop = stop
        self._running: list[_Timer | _OuterTimer] = []

    def limit(self, seconds: float | None, name: str) -> AbstractContextManager[None]:
        """Stop the run if the block takes longer than this; None means no limit."""
        if seconds is None:
            return nullcontext()
        reason = abort_reason("timeout", f"{name}={seconds:g}")
        return _Timer(seconds, self._stop, reason, self._running)

    @contextmanager
    def pause_with(self, timer: asyncio.Timeout | None) -> Generator[None, None, None]:
        """Pause a time limit from outside the run together with those of the run."""
        if timer is None:
            yield
            return
        outer = _OuterTimer(timer)
        self._running.append(outer)
        try:
            yield
        finally:
            self._running.remove(outer)

    @contextmanager
    def pause(self) -> Generator[None, None, None]:
        """Do not count the time of the block."""
        for timer in self._running:
            timer.pause()
        try:
            yield
        finally:
            for timer in self._running:
                timer.start()


class _Timer:
    """A time limit of a block. `running` has it while the block runs.

    Every live run is inside of two of these, and a generator would take four times the memory.
    """

    __slots__ = ("_handle", "_left_s", "_reason", "_running", "_stop")

    def __init__(
        self,
        seconds: float,
        stop: Callable[[FinishReason], None],
        reason: FinishReason,
        running: list[_Timer | _OuterTimer],
    ) -> None:
        self._left_s = seconds
        self._stop = stop
        self._reason = reason
        self._running = running
        self._handle: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self._running.append(self)
        self.start()

    def __exit__(self, *error: object) -> None:
        self.pause()
        self._running.remove(self)

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._handle = loop.call_later(self._left_s, self._stop, self._reason)

    def pause(self) -> None:
        if self._handle is not None:
            loop = asyncio.get_running_loop()
            self._left_s = max(0.0, self._handle.when() - loop.time())
            self._handle.cancel()
            self._handle = None


class _OuterTimer:
    """A time limit that somebody else has started."""

    __slots__ = ("_left_s", "_timer")

    def __init__(self, timer: asyncio.Timeout) -> None:
        self._timer = timer
        self._left_s: float | None = None

    def start(self) -> None:
        if self._left_s is not None and not self._timer.expired():
            self._timer.reschedule(asyncio.get_running_loop().time() + self._left_s)
        self._left_s = None

    def pause(self) -> None:
        when = self._timer.when()
        if when is not None and not self._timer.expired():
            self._left_s = when - asyncio.get_running_loop().time()
            self._timer.reschedule(None)

"""Calls of tools that go on after they were cancelled or timed out, and how many there may be.

A thread cannot be stopped, and a coroutine may ignore its cancellation. Without a limit, somebody
who cancels often would fill the process with such calls.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Final
from weakref import WeakValueDictionary

MAX_CALLS: Final = 64
"""Most calls of a process that may be left behind before tools are refused."""
MAX_CALLS_PER_USER: Final = 8
"""Most calls of one user of a server that may be left behind before tools are refused."""


class LeftBehindCalls:
    """Counts the calls that were left behind and have not ended yet. `parent` counts them too.

    The limit is checked when a call starts, so calls that run at the same time may exceed it.
    All methods may be called from any thread.
    """

    def __init__(self, limit: int, parent: LeftBehindCalls | None = None) -> None:
        self._limit = limit
        self._parent = parent
        self._lock = threading.Lock()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find_problem(self) -> str:
        """Return why no call may start now, or an empty string."""
        if self._count >= self._limit:
            return f"{self._count} stopped calls of tools have not ended yet; try again later"
        return "" if self._parent is None else self._parent.find_problem()

    def add(self, change: int) -> None:
        """Change the number of calls."""
        with self._lock:
            self._count += change
        if self._parent is not None:
            self._parent.add(change)


PROCESS_CALLS: Final = LeftBehindCalls(MAX_CALLS)
"""The calls of the whole process."""
CURRENT_CALLS: Final = ContextVar("headrace_left_behind_calls", default=PROCESS_CALLS)
"""Where calls are counted that start in this context. A server sets it for each run."""


class LeftBehindByUser:
    """The calls that were left behind, by user. Each user may have `limit` of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Each is kept by the runs and the calls that it counts.
        self._calls: WeakValueDictionary[str, LeftBehindCalls] = WeakValueDictionary()

    def of(self, user: str) -> LeftBehindCalls:
        """Return the counter of a user."""
        calls = self._calls.get(user)
        if calls is None:
            calls = self._calls[user] = LeftBehindCalls(self._limit, PROCESS_CALLS)
        return calls


class RunningCall:
    """One call: counted from `leave()` until `end()`, in whichever order they are called."""

    def __init__(self, calls: LeftBehindCalls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._is_counted = False
        self._has_ended = False

    def leave(self) -> None:
        """Note that nobody waits for the call any more."""
        with self._lock:
            if not self._has_ended and not self._is_counted:
                self._is_counted = True
                self._calls.add(1)

    def end(self) -> None:
        """Note that the call has ended."""
        with self._lock:
            if self._is_counted and not self._has_ended:
                self._calls.add(-1)
            self._has_ended = True

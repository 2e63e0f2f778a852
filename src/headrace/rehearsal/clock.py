"""An event loop whose time jumps: waiting costs nothing, and the order stays what it was.

For tests. Time passes only when nothing is ready to run, and then at once to the next
timer. While threads of the loop's executor work, it passes as it does on the wall.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

from headrace.errors import HeadraceError

T = TypeVar("T")
# Timers compare with the clock's resolution; a jump is never smaller.
_TICK_S = 1e-9
# How long the clean-up after a hang may take.
_GRACE_S = 2.0


class Hang(HeadraceError):
    """The coroutine did not come to an end: nothing can wake it, or it took too long."""


class TasksLeft(HeadraceError):
    """The coroutine ended, and tasks that it had started did not. `names` says which."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"{len(names)} tasks were left running: {', '.join(names)}")
        self.names = names


def run_virtual(
    coro: Coroutine[Any, Any, T], *, within_s: float = 10.0, leftover: list[str] | None = None
) -> T:
    """Run a coroutine on a loop of its own with virtual time, and clean up behind it.

    Raises `Hang` where it is not done within so many real seconds, or nothing is left that
    could wake it; and `TasksLeft` where tasks of it still run at its end. With a list as
    `leftover` their names are put there instead. All of them are cancelled, and
    asynchronous generators are closed, before this returns.
    """
    loop = VirtualLoop(within_s)
    left: list[str] = []
    try:
        result = loop.run_until_complete(loop.create_task(coro, name="run_virtual"))
        left = sorted(_told(task) for task in asyncio.all_tasks(loop) if not _is_closing(task))
    finally:
        try:
            _clean_up(loop)
        finally:
            loop.close()
    if leftover is not None:
        leftover += left
    elif left:
        raise TasksLeft(left)
    return result


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop itself, for those who run it by hand. `time()` begins at 0; past `within_s`
    real seconds it raises `Hang`."""

    def __init__(self, within_s: float = 10.0) -> None:
        self._jumps = _JumpingSelector(within_s)
        super().__init__(self._jumps)

    def time(self) -> float:
        """The virtual time, in seconds."""
        return self._jumps.now_s

    def extend(self, by_s: float) -> None:
        """Give it so many real seconds from now on."""
        self._jumps.end_s = time.monotonic() + by_s

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """As ever; while it runs, time does not jump over it."""
        future = super().run_in_executor(executor, func, *args)
        self._jumps.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _: asyncio.Future[Any]) -> None:
        self._jumps.threads -= 1


class _JumpingSelector(selectors.DefaultSelector):
    """Where a loop waits; so here time passes."""

    def __init__(self, within_s: float) -> None:
        super().__init__()
        self.now_s = 0.0
        self.end_s = time.monotonic() + within_s
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if time.monotonic() > self.end_s:
            raise Hang("it was not done in time: it goes round and round, or waits for a thread")
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.threads or timeout is None:
            return self._wait(timeout)
        self.now_s += max(timeout, _TICK_S)
        return ready

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Only a thread can wake it."""
        if not self.threads and threading.active_count() == 1:
            raise Hang("nothing is left that could wake it: every task waits for another")
        began_s = time.monotonic()
        left_s = max(self.end_s - began_s, 0.0)
        ready = super().select(left_s if timeout is None else min(timeout, left_s))
        self.now_s += max(time.monotonic() - began_s, _TICK_S)
        return ready


def _is_closing(task: asyncio.Task[Any]) -> bool:
    """Whether it is asyncio's own, which closes a generator that was left in the middle."""
    return type(task.get_coro()).__name__.startswith("async_generator_")


def _told(task: asyncio.Task[Any]) -> str:
    return f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')})"


def _clean_up(loop: VirtualLoop) -> None:
    loop.extend(_GRACE_S)
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())

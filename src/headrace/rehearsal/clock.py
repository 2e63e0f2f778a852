"""An event loop with virtual time for tests: waiting takes no time, and the order of events is
kept.

Time advances only when nothing is ready to run, and then jumps to the next timer. While threads of
the loop's executor work, it runs with the wall clock.
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
# Timers are compared with the clock's resolution, so a jump is never smaller.
_TICK_S = 1e-9
# Time limit of the clean-up after a hang.
_GRACE_S = 2.0


class Hang(HeadraceError):
    """The coroutine did not end: nothing can wake it, or it took too long."""


class TasksLeft(HeadraceError):
    """The coroutine ended, but tasks that it started did not. `names` lists them."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"{len(names)} tasks were left running: {', '.join(names)}")
        self.names = names


def run_virtual(
    coro: Coroutine[Any, Any, T], *, within_s: float = 10.0, leftover: list[str] | None = None
) -> T:
    """Run a coroutine with virtual time on a loop of its own.

    Raises `Hang` if it is not done within `within_s` real seconds or nothing can wake it, and
    `TasksLeft` if its tasks are still running at the end; with a list as `leftover`, their names
    are added to that list instead. All tasks are cancelled and async generators closed before this
    returns.
    """
    loop = VirtualLoop(within_s)
    left: list[str] = []
    try:
        result = loop.run_until_complete(loop.create_task(coro, name="run_virtual"))
        left = sorted(
            _describe_task(task) for task in asyncio.all_tasks(loop) if not _is_closing(task)
        )
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
    """The event loop with virtual time.

    `time()` starts at 0. After `within_s` real seconds it raises `Hang`.
    """

    def __init__(self, within_s: float = 10.0) -> None:
        self._jumps = _JumpingSelector(within_s)
        super().__init__(self._jumps)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._jumps.now_s

    def extend(self, by_s: float) -> None:
        """Allow `within_s` real seconds from now."""
        self._jumps.end_s = time.monotonic() + by_s

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run a function in a thread; time does not jump while it runs."""
        future = super().run_in_executor(executor, func, *args)
        self._jumps.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _: asyncio.Future[Any]) -> None:
        self._jumps.threads -= 1


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that advances the virtual time instead of waiting."""

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
        """Wait for a thread, the only thing that can wake the loop."""
        if not self.threads and threading.active_count() == 1:
            raise Hang("nothing is left that could wake it: every task waits for another")
        began_s = time.monotonic()
        left_s = max(self.end_s - began_s, 0.0)
        ready = super().select(left_s if timeout is None else min(timeout, left_s))
        self.now_s += max(time.monotonic() - began_s, _TICK_S)
        return ready


def _is_closing(task: asyncio.Task[Any]) -> bool:
    """Return whether this is asyncio's own task that closes an abandoned generator."""
    return type(task.get_coro()).__name__.startswith("async_generator_")


def _describe_task(task: asyncio.Task[Any]) -> str:
    return f"{task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')})"


def _clean_up(loop: VirtualLoop) -> None:
    loop.extend(_GRACE_S)
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())

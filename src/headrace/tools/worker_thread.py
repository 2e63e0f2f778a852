"""Threads for tools that are not async."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import msgspec


class Outcome(msgspec.Struct, frozen=True):
    """The value or the exception of a call. Exceptions are passed as values because a future
    does not accept all of them: one with `StopIteration` would never finish."""

    value: Any = None
    error: BaseException | None = None


class _Threads(Executor):
    """Starts one daemon thread per call. A pool could fill up with tools that never return, and
    the interpreter would wait for them at exit. `on_end` is called at the end of the thread."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(fn(*args, **kwargs))
            finally:
                self._on_end()

        threading.Thread(target=work, name="headrace tool", daemon=True).start()
        return future


def run_in_thread(
    function: Callable[[], Any], on_end: Callable[[], None]
) -> asyncio.Future[Outcome]:
    """Call a function in a new thread, with the context variables of the caller. `on_end` is
    called in the thread at its end."""
    context = contextvars.copy_context()

    def call() -> Outcome:
        try:
            return Outcome(context.run(function))
        except BaseException as error:  # noqa: BLE001 (raised where it is awaited)
            return Outcome(error=error)

    return asyncio.get_running_loop().run_in_executor(_Threads(on_end), call)

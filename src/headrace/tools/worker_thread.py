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
    the interpreter would wait for them at exit."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args, **kwargs))

        threading.Thread(target=work, name="headrace tool", daemon=True).start()
        return future


_THREADS = _Threads()


def run_in_thread(function: Callable[[], Any]) -> asyncio.Future[Outcome]:
    """Call a function in a new thread, with the context variables of the caller."""
    context = contextvars.copy_context()

    def call() -> Outcome:
        try:
            return Outcome(context.run(function))
        except BaseException as error:  # noqa: BLE001 (raised where it is awaited)
            return Outcome(error=error)

    return asyncio.get_running_loop().run_in_executor(_THREADS, call)

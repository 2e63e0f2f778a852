"""Threads for tools that are plain functions."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import msgspec


class Outcome(msgspec.Struct, frozen=True):
    """What a call came to. A value, since not every exception gets through a future: one
    that holds `StopIteration` never ends."""

    value: Any = None
    error: BaseException | None = None


class _Threads(Executor):
    """A thread for each call, that ends with it and keeps no process alive. A pool would be
    full one day of tools that never end, and the interpreter would wait for them."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args, **kwargs))

        threading.Thread(target=work, name="headrace tool", daemon=True).start()
        return future


_THREADS = _Threads()


def in_thread(function: Callable[[], Any]) -> asyncio.Future[Outcome]:
    """Call it in a thread of its own, with the context variables of the caller."""
    context = contextvars.copy_context()

    def call() -> Outcome:
        try:
            return Outcome(context.run(function))
        except BaseException as error:  # noqa: BLE001 (the edge: it is raised where it is awaited)
            return Outcome(error=error)

    return asyncio.get_running_loop().run_in_executor(_THREADS, call)

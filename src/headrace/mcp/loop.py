"""The event loop of all MCP connections, in a thread of its own.

A session must be opened and closed by one task, while agents run on any event loop, and on several
one after the other. Calls cross over to this loop; nothing that a server sends is read elsewhere,
so that a server that floods its client delays no agent.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from headrace.transport.loop_thread import LoopThread

T = TypeVar("T")

_LOOP: Final = LoopThread("headrace-mcp")


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the loop of the connections."""
    return _LOOP.submit(work)


async def run_on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of the connections, and wait for it. Cancelling the wait cancels
    the coroutine."""
    return await asyncio.wrap_future(_LOOP.submit(work))


def run_and_wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of the connections, and block until it has ended."""
    return _LOOP.run(work)


def stop_loop() -> None:
    """End the thread; what is still connected is cut off."""
    _LOOP.close()


atexit.register(stop_loop)

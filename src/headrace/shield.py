"""Runs work to its end even if the caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def run_shielded(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, even if the caller is cancelled meanwhile, once or several times.

    The cancellation is raised when the work is done.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.done():
                break
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()

"""Work that is done whole, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def run_shielded(work: Coroutine[Any, Any, None]) -> None:
    """Do the work to its end, also while the caller is cancelled, once or again and again, as
    by a scope that has timed out; then the caller is."""
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

"""The metrics of all workers: a scrape reaches one of them, which asks the others.

Each worker listens on a socket in a private folder, and sends its metrics to whoever connects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.server.workers.metric_labels import join_metrics

_ASK_S: Final = 2.0


class MetricsExchange:
    """This worker among the others. `read` returns its own metrics."""

    def __init__(
        self, folder: Path, number: int, count: int, read: Callable[[], Awaitable[str]]
    ) -> None:
        self._folder = folder
        self._number = number
        self._count = count
        self._read = read
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen for the other workers, until the process ends."""
        path = self._find_path(self._number)
        # That of the worker that this one replaces.
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, path)

    def _find_path(self, number: int) -> Path:
        return self._folder / f"{number}.sock"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ASK_S):
                writer.write((await self._read()).encode())
                await writer.drain()
        writer.close()

    async def collect(self) -> str:
        """Return the metrics of all workers."""
        numbers = range(1, self._count + 1)
        texts = await asyncio.gather(*map(self._ask, numbers))
        return join_metrics(dict(zip(numbers, texts, strict=True)))

    async def _ask(self, number: int) -> str | None:
        """Return the metrics of one worker, or None if it does not answer."""
        if number == self._number:
            return await self._read()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ASK_S):
                reader, writer = await asyncio.open_unix_connection(self._find_path(number))
                try:
                    return (await reader.read()).decode() or None
                finally:
                    writer.close()
        return None

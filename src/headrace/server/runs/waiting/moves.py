"""Runs that are being suspended or resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from headrace.server.storage.store import RunRow


class _Move:
    """One run that is being suspended or resumed."""

    def __init__(self, row: RunRow) -> None:
        self.row = row
        self.count = 0
        self.is_over = asyncio.Event()


class Moves:
    """Counts runs as live while they are being suspended or resumed, perhaps by several requests at
    once."""

    def __init__(self) -> None:
        self._moves: dict[str, _Move] = {}

    @property
    def rows(self) -> list[RunRow]:
        """The runs, as the store knows them."""
        return [move.row for move in self._moves.values()]

    @contextmanager
    def enter(self, row: RunRow) -> Generator[None, None, None]:
        """Count a run until the block is left."""
        move = self._moves.setdefault(row.id, _Move(row))
        move.count += 1
        try:
            yield
        finally:
            move.count -= 1
            if not move.count:
                del self._moves[row.id]
                move.is_over.set()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._moves

    async def wait(self, run_id: str) -> None:
        """Wait until a run is not being suspended or resumed any more."""
        while (move := self._moves.get(run_id)) is not None:
            await move.is_over.wait()

"""The `LiveLog` interface: a log beside PostgreSQL that has the records of live runs only."""

from __future__ import annotations

from typing import Protocol

from headrace.server.storage.log.batch import Batch
from headrace.server.storage.store import RunRow


class LiveLog(Protocol):
    """Has the records of runs that are neither suspended nor closed; those move into the store."""

    async def claim(self, run_id: str, epoch: int) -> None:
        """Keep earlier servers from appending to a run that the store has claimed for this one.
        Raises `RunTaken` if yet another one has claimed it since."""
        ...

    async def collect(self, run: RunRow, last_seq: int | None = None) -> list[Batch]:
        """Return the records of a run that are not in the store, up to the one with this number.
        Raises `StorageFailed` if some are missing."""
        ...

    async def retire(self, run: RunRow, last_seq: int, *, is_closed: bool) -> None:
        """Remove the records of a run that are in the store now."""
        ...

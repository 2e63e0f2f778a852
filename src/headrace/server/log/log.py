"""The seam of all logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.events import Record


class Log(Protocol):
    """Keeps the records of runs. What `append` has returned for is there after a crash."""

    async def append(self, run_id: str, records: Sequence[Record]) -> None:
        """Keep these behind what is there. Raises `StorageFailed` where they do not follow
        it without a gap, or cannot be kept; then none of them is."""
        ...

    async def read(self, run_id: str, after: int = 0) -> list[Record]:
        """The records with a higher number than `after`, in order."""
        ...

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Forget these runs."""
        ...

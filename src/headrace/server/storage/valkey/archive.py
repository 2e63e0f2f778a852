"""The `Archive` interface: where the records of runs are that have ended or wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.events import Record


class Archive(Protocol):
    """The log of the store, as a live log beside it needs it."""

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        """Return the records with a number above `after`, in order; see `Log`."""
        ...

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Delete all records of these runs."""
        ...

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of the last record of each of these runs."""
        ...

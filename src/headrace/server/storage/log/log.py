"""The seam of all logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from headrace.events import Record

Done: TypeAlias = Callable[[Exception | None], None]
"""What is called in the event loop when records are kept, or with why they are not."""


class Tail(Protocol):
    """The end of one run's log, for the one that writes it."""

    def put(self, records: Sequence[Record], done: Done) -> None:
        """Keep these behind what was put before; does not wait. Once some could not be kept,
        none after them is."""
        ...


class Log(Protocol):
    """Keeps the records of runs. What `append` has returned for is there after a crash."""

    async def append(self, run_id: str, records: Sequence[Record]) -> None:
        """Keep these behind what is there. Raises `StorageFailed` where they do not follow
        it without a gap, come behind a `RunClosed`, or cannot be kept; then none of them is."""
        ...

    def tail(self, run_id: str) -> Tail:
        """The same, for a run that is written record by record."""
        ...

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        """The records with a higher number than `after`, in order; no more once they are so
        large together, but one at least."""
        ...

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Forget these runs."""
        ...

"""The `Log` interface: where the records of runs are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from headrace.events import Record

Done: TypeAlias = Callable[[Exception | None], None]
"""Called in the event loop: with None when records are stored, or with the error."""


class Tail(Protocol):
    """The end of one run's log, for the run that writes it."""

    def put(self, records: Sequence[Record], done: Done) -> None:
        """Append records without waiting, and call `done` once they are stored.

        After an error, later records of the same run are refused as well.
        """
        ...


class Log(Protocol):
    """Stores the records of runs. Records that `append()` returned for survive a crash."""

    async def append(self, run_id: str, records: Sequence[Record], epoch: int = 0) -> None:
        """Append records to a run.

        Raises `StorageFailed`, and stores none of them, if they do not follow the last record
        without a gap, follow a `RunClosed`, cannot be written, or if several servers share the log
        and another one has claimed the run since this `epoch`.
        """
        ...

    def tail(self, run_id: str, epoch: int = 0) -> Tail:
        """Return the writing end of a run's log, for records that come one by one. `epoch` is that
        of the run when this server began to work on it."""
        ...

    async def read(self, run_id: str, after: int = 0, max_bytes: int | None = None) -> list[Record]:
        """Return the records with a number above `after`, in order.

        With `max_bytes`, the list ends with the record that reaches that size.
        """
        ...

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Delete all records of these runs."""
        ...

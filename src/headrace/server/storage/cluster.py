"""The `Cluster` interface: what several servers that share a storage tell each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from headrace.server.storage.store import RunRow

WATCH_S: Final = 30.0
"""Time for which a server that follows a run of another server is told about its records."""


class Cluster(Protocol):
    """This server among others. Data is in the log and in the store; here servers only wake each
    other, and find out which of them are alive."""

    node: str
    """Name of this server, different at every start."""

    async def open(
        self,
        on_entry: Callable[[str], None],
        on_records: Callable[[Sequence[str]], None],
    ) -> None:
        """Begin to send heartbeats and to listen.

        `on_entry` is called with the id of a run whose inbox has something new, and `on_records`
        with the ids of watched runs that have new records; with none if some may have been missed.
        """
        ...

    async def close(self) -> None:
        """Leave: others can take what this server has not finished."""
        ...

    async def forget(self, node: str) -> None:
        """Note that another server has ended, so that its runs need not wait for its lease. Only
        for a process that is known to be gone."""
        ...

    @property
    def lease_age_s(self) -> float:
        """Time since the last heartbeat that was accepted; infinite before the first."""
        ...

    @property
    def is_current(self) -> bool:
        """Whether this server may begin turns and tools: it has renewed its lease in time."""
        ...

    async def notify(self, run_id: str) -> None:
        """Tell the server that has a run to look at its inbox."""
        ...

    async def release(self, run: RunRow) -> None:
        """Give up a run, so that any server can go on with it."""
        ...

    async def runs_to_wake(self) -> list[str]:
        """Return the runs of this server whose inbox has entries that were not taken."""
        ...

    async def watch(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Ask for notifications about these runs for a while; return the number of the last record
        of each."""
        ...

    async def last_seqs(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Return the number of the last record of each of these runs."""
        ...

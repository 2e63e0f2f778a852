"""What a server may do by its own clock, given its heartbeats. Pure: the time is passed in."""

from __future__ import annotations

from typing import Final

LEASE_S: Final = 15.0
"""Time after its last heartbeat until others may take the runs of a server, by default."""


class Lease:
    """The heartbeats of this server.

    A server takes over runs only after it has renewed its lease without a gap for as long as a
    lease lasts: if the database was away, the others must have had time to renew theirs.
    """

    def __init__(self, lease_s: float = LEASE_S) -> None:
        self.lease_s = lease_s
        """Time after the last heartbeat until others may take the runs of this server."""
        self.heartbeat_s = lease_s / 5
        """Time between two heartbeats."""
        self.current_s = lease_s * 2 / 3
        """Time after the last heartbeat until this server begins nothing new. Shorter than the
        lease, so that it stops before others take over."""
        self._renewed_s: float | None = None
        self._steady_since_s: float | None = None

    def renew(self, sent_s: float) -> None:
        """Note a heartbeat that was accepted, by the time at which it was sent."""
        if self._renewed_s is None or sent_s - self._renewed_s > self.current_s:
            self._steady_since_s = sent_s
        self._renewed_s = sent_s

    def age_s(self, now_s: float) -> float:
        """Return the time since the last heartbeat that was accepted; infinite if there is none."""
        return float("inf") if self._renewed_s is None else now_s - self._renewed_s

    def is_current(self, now_s: float) -> bool:
        """Return whether this server may begin turns and tools."""
        return self.age_s(now_s) <= self.current_s

    def can_take_over(self, now_s: float) -> bool:
        """Return whether this server may take the runs of servers that seem to be gone."""
        since_s = self._steady_since_s
        return self.is_current(now_s) and since_s is not None and now_s - since_s >= self.lease_s

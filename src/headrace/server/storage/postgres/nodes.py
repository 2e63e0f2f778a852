"""Leases: which servers are alive, by the clock of the database."""

from __future__ import annotations

from typing import Final

from headrace.server.storage.lease import LEASE_S
from headrace.server.storage.postgres.pool import Pool

ALIVE: Final = (
    "EXISTS (SELECT 1 FROM nodes WHERE nodes.id = runs.holder"
    f" AND nodes.renewed_at > clock_timestamp() - interval '{LEASE_S:.0f} seconds')"
)
"""Condition for a run whose holder is alive."""


class Nodes:
    """The table of servers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def renew(self, node: str) -> None:
        """Note that a server is alive."""
        await self._pool.execute(
            "INSERT INTO nodes VALUES ($1, clock_timestamp())"
            " ON CONFLICT (id) DO UPDATE SET renewed_at = excluded.renewed_at",
            node,
        )

    async def remove(self, node: str) -> None:
        """Note that a server has stopped, and forget those that have been gone for a day."""
        await self._pool.execute(
            "DELETE FROM nodes WHERE id = $1 OR renewed_at < clock_timestamp() - interval '1 day'",
            node,
        )

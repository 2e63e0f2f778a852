"""The table of servers: which of them are alive, by the clock of the database."""

from __future__ import annotations

from typing import Final

from headrace.server.storage.postgres.pool import Pool

ALIVE: Final = (
    "EXISTS (SELECT 1 FROM nodes WHERE nodes.id = runs.holder"
    " AND nodes.renewed_at + nodes.lease > clock_timestamp())"
)
"""Condition for a run whose holder is alive."""


class Nodes:
    """The table of servers."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def renew(self, node: str, lease_s: float) -> None:
        """Note that a server is alive, and how long others should believe it."""
        await self._pool.execute(
            "INSERT INTO nodes VALUES ($1, clock_timestamp(), make_interval(secs => $2))"
            " ON CONFLICT (id) DO UPDATE"
            " SET renewed_at = excluded.renewed_at, lease = excluded.lease",
            node,
            lease_s,
        )

    async def remove(self, node: str) -> None:
        """Note that a server has stopped, and forget those that have been gone for a day."""
        await self._pool.execute(
            "DELETE FROM nodes WHERE id = $1 OR renewed_at < clock_timestamp() - interval '1 day'",
            node,
        )

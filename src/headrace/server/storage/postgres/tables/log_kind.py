"""Which log the servers of a database use for live runs: all of them must use the same."""

from __future__ import annotations

from typing import Final

from headrace.errors import UsageError
from headrace.server.storage.postgres.pool import Pool

_NAME: Final = "live_log"
_ADVICE: Final = {
    "postgres": "start this server without --log",
    "valkey": "start this server with --log",
}


async def check_log_kind(pool: Pool, kind: str) -> None:
    """Note which log this server uses, `postgres` or `valkey`. Raises `UsageError` if another
    server is alive, or a run is live, with another log."""
    async with pool.transaction() as connection:
        await connection.execute(
            "INSERT INTO server_keys (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            _NAME,
            b"postgres",
        )
        found = await connection.fetchval(
            "SELECT value FROM server_keys WHERE name = $1 FOR UPDATE", _NAME
        )
        known = bytes(found).decode()
        if known == kind:
            return
        is_used = await connection.fetchval(
            "SELECT EXISTS (SELECT 1 FROM nodes WHERE renewed_at + lease > clock_timestamp())"
            " OR EXISTS (SELECT 1 FROM runs WHERE state = 'live' AND suspended_ms IS NULL)"
        )
        if is_used:
            raise UsageError(
                f"the servers of this database use another log: {_ADVICE[known]}, or stop them and"
                " let their answers end first"
            )
        await connection.execute(
            "UPDATE server_keys SET value = $2 WHERE name = $1", _NAME, kind.encode()
        )

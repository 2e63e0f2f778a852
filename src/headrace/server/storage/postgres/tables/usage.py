"""The table of usage in PostgreSQL, and what is counted for limits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from headrace.server.storage.postgres.pool import Connection, Pool
from headrace.server.storage.usage.usage_table import UsageRow, UsageSum, check_groups, to_sum
from headrace.server.storage.usage.windows import (
    UsedUp,
    WindowLimits,
    current_windows,
    find_used_up,
    oldest_window,
)

_COLUMNS: Final = {
    "user": "owner",
    "day": "to_char(to_timestamp(ended_ms / 1000), 'YYYY-MM-DD')",
    "month": "to_char(to_timestamp(ended_ms / 1000), 'YYYY-MM')",
}


class PostgresUsage:
    """The table of usage in the database; see `UsageTable`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, row: UsageRow) -> None:
        async with self._pool.transaction() as connection:
            await insert_usage(connection, row)

    async def count_request(self, owner: str, now_ms: int, limits: WindowLimits) -> UsedUp | None:
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        async with self._pool.transaction() as connection:
            for unit, window, wait_s in current_windows(now):
                row = await connection.fetchrow(
                    "SELECT requests, tokens, cost FROM usage_windows"
                    " WHERE owner = $1 AND period = $2 FOR UPDATE",
                    owner,
                    window,
                )
                used_up = find_used_up(limits, unit, dict(row or {}), wait_s)
                if used_up is not None:
                    return used_up
            await _add_to_windows(connection, owner, now, requests=1)
            oldest = oldest_window(now)
            await connection.execute(
                "DELETE FROM usage_windows WHERE owner = $1 AND length(period) = $2"
                " AND period < $3",
                owner,
                len(oldest),
                oldest,
            )
        return None

    async def sum_up(
        self, by: Sequence[str], *, since_ms: int = 0, owner: str | None = None
    ) -> list[UsageSum]:
        check_groups(by)
        columns = [_COLUMNS.get(name, name) for name in by]
        query = (
            f"SELECT {''.join(column + ', ' for column in columns)} count(*),"
            " coalesce(sum(input_tokens), 0), coalesce(sum(cached_tokens), 0),"
            " coalesce(sum(output_tokens), 0), coalesce(sum(reasoning_tokens), 0),"
            " coalesce(sum(cost), 0), count(*) FILTER (WHERE cost IS NULL) FROM usage_rows"
            " WHERE ended_ms >= $1 AND ($2::text IS NULL OR owner = $2)"
            + (f" GROUP BY {', '.join(columns)}" if columns else "")
            + " ORDER BY coalesce(sum(cost), 0) DESC, count(*) DESC"
        )
        found = await self._pool.fetch(query, since_ms, owner)
        sums = [to_sum(tuple(row.values()), len(columns)) for row in found]
        return [one for one in sums if one.answers]


async def insert_usage(connection: Connection, row: UsageRow) -> None:
    """Insert the row of one answer, and add it to the windows of its user."""
    names = UsageRow.__struct_fields__
    marks = ", ".join(f"${place}" for place in range(1, len(names) + 1))
    values = [getattr(row, name) for name in names]
    await connection.execute(
        f"INSERT INTO usage_rows ({', '.join(names)}) VALUES ({marks})", *values
    )
    tokens = (row.input_tokens or 0) + (row.output_tokens or 0)
    now = datetime.fromtimestamp(row.ended_ms / 1000, UTC)
    await _add_to_windows(connection, row.owner, now, tokens=tokens, cost=row.cost or 0.0)


async def _add_to_windows(
    connection: Connection,
    owner: str,
    now: datetime,
    *,
    requests: int = 0,
    tokens: int = 0,
    cost: float = 0.0,
) -> None:
    for _, window, _ in current_windows(now):
        await connection.execute(
            "INSERT INTO usage_windows AS known VALUES ($1, $2, $3, $4, $5)"
            " ON CONFLICT (owner, period) DO UPDATE SET"
            " requests = known.requests + excluded.requests,"
            " tokens = known.tokens + excluded.tokens, cost = known.cost + excluded.cost",
            owner,
            window,
            requests,
            tokens,
            cost,
        )

"""The table of usage in PostgreSQL, and what is counted for limits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from headrace.server.storage.postgres.pool import Connection, Pool
from headrace.server.storage.usage.limits import CountedLimits
from headrace.server.storage.usage.usage_table import (
    STORED_FIELDS,
    UsageRow,
    UsageSum,
    check_groups,
    to_sum,
)
from headrace.server.storage.usage.windows import (
    UsedUp,
    current_windows,
    find_used_up,
    oldest_windows,
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

    async def count_request(self, counted: Sequence[CountedLimits], now_ms: int) -> UsedUp | None:
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        async with self._pool.transaction() as connection:
            for one in counted:
                used_up = await _find_used_up(connection, one, now)
                if used_up is not None:
                    return used_up
            for key, _ in counted:
                await _add_to_windows(connection, key, now, requests=1)
        return None

    async def delete_old_windows(self, now_ms: int) -> None:
        async with self._pool.transaction() as connection:
            for oldest in oldest_windows(now_ms):
                await connection.execute(
                    "DELETE FROM usage_windows WHERE length(period) = $1 AND period < $2",
                    len(oldest),
                    oldest,
                )

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


async def _find_used_up(
    connection: Connection, counted: CountedLimits, now: datetime
) -> UsedUp | None:
    """Return the limit that is used up, or None.

    Locks the windows in the order in which they are added to. A row that is missing is inserted,
    because there would be nothing to lock: requests at the same moment would not see each other,
    and could block the end of an answer.
    """
    for unit, window, wait_s in current_windows(now):
        row = await connection.fetchrow(
            "INSERT INTO usage_windows AS known VALUES ($1, $2, 0, 0, 0)"
            " ON CONFLICT (owner, period) DO UPDATE SET requests = known.requests"
            " RETURNING requests, tokens, cost",
            counted.key,
            window,
        )
        used_up = find_used_up(counted.limits, unit, dict(row), wait_s)
        if used_up is not None:
            return used_up
    return None


async def insert_usage(connection: Connection, row: UsageRow) -> None:
    """Insert the row of one answer, and add it to the windows of its user and its token."""
    marks = ", ".join(f"${place}" for place in range(1, len(STORED_FIELDS) + 1))
    values = [getattr(row, name) for name in STORED_FIELDS]
    await connection.execute(
        f"INSERT INTO usage_rows ({', '.join(STORED_FIELDS)}) VALUES ({marks})", *values
    )
    now = datetime.fromtimestamp(row.ended_ms / 1000, UTC)
    for key in row.counted_keys:
        await _add_to_windows(connection, key, now, tokens=row.tokens, cost=row.cost or 0.0)


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

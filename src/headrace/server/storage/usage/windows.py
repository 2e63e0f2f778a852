"""What has been used in the current minute, day and month, for limits."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from headrace.server.storage.usage.limits import (
    COUNTS,
    CountedLimits,
    UsageLimits,
    describe_limit,
)

_KEPT_MINUTES: Final = 60


class UsedUp(NamedTuple):
    """A limit that is used up."""

    limit: str
    """What is used up, in words: `100 requests per minute`."""
    wait_s: float
    """Seconds until there is more."""


def count_request(
    connection: sqlite3.Connection, counted: Sequence[CountedLimits], now_ms: int
) -> UsedUp | None:
    """Count a request for each of these limits, unless one is used up: then return which."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    query = "SELECT requests, tokens, cost FROM usage_windows WHERE owner = ? AND window = ?"
    for key, limits in counted:
        for unit, window, wait_s in current_windows(now):
            row = connection.execute(query, (key, window)).fetchone()
            used_up = find_used_up(limits, unit, dict(row or {}), wait_s)
            if used_up is not None:
                return used_up
    for key, _ in counted:
        _add(connection, key, now, requests=1)
    return None


def delete_old_windows(connection: sqlite3.Connection, now_ms: int) -> None:
    """Delete the minutes and days that count for no limit any more."""
    connection.executemany(
        "DELETE FROM usage_windows WHERE length(window) = ? AND window < ?",
        [(len(oldest), oldest) for oldest in oldest_windows(now_ms)],
    )


def current_windows(now: datetime) -> tuple[tuple[str, str, float], ...]:
    """Return the windows that a time is in: unit, name, and the seconds until it ends."""
    return (
        ("minute", _minute(now), 60.0 - now.second),
        ("day", _day(now), (_next_day(now) - now).total_seconds()),
        ("month", _month(now), (_next_month(now) - now).total_seconds()),
    )


def oldest_windows(now_ms: int) -> tuple[str, str]:
    """Return the names of the oldest minute and the oldest day that are kept. Servers do not begin
    a day at the same moment, and an answer may have ended just before."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    return _minute(now - timedelta(minutes=_KEPT_MINUTES)), _day(now - timedelta(days=1))


def find_used_up(
    limits: UsageLimits, unit: str, used: Mapping[str, float], wait_s: float
) -> UsedUp | None:
    """Return the limit of a window that is used up, or None."""
    for name in COUNTS:
        limit = getattr(limits, f"{name}_per_{unit}")
        if limit is not None and used.get(name, 0) >= limit:
            return UsedUp(describe_limit(name, unit, limit), wait_s)
    return None


def add_to_windows(
    connection: sqlite3.Connection, owner: str, at_ms: int, tokens: int, cost: float
) -> None:
    """Add the usage of an answer to the windows in which it ended."""
    _add(connection, owner, datetime.fromtimestamp(at_ms / 1000, UTC), tokens=tokens, cost=cost)


def _add(
    connection: sqlite3.Connection,
    owner: str,
    now: datetime,
    *,
    requests: int = 0,
    tokens: int = 0,
    cost: float = 0.0,
) -> None:
    for _, window, _ in current_windows(now):
        connection.execute(
            "INSERT INTO usage_windows VALUES (?, ?, ?, ?, ?) ON CONFLICT (owner, window) DO UPDATE"
            " SET requests = requests + excluded.requests, tokens = tokens + excluded.tokens,"
            " cost = cost + excluded.cost",
            (owner, window, requests, tokens, cost),
        )


def _minute(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M")


def _day(now: datetime) -> str:
    return now.strftime("%Y-%m-%d")


def _month(now: datetime) -> str:
    return now.strftime("%Y-%m")


def _next_day(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def _next_month(now: datetime) -> datetime:
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)

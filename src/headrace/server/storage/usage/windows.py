"""What each user has used in the current minute and month, for limits."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol

_COUNTS: Final = ("requests", "tokens", "cost")
_KEPT_MINUTES: Final = 60


class WindowLimits(Protocol):
    """Most that a user may use in a minute and in a month. None is no limit."""

    @property
    def requests_per_minute(self) -> int | None: ...
    @property
    def tokens_per_minute(self) -> int | None: ...
    @property
    def cost_per_minute(self) -> float | None: ...
    @property
    def requests_per_month(self) -> int | None: ...
    @property
    def tokens_per_month(self) -> int | None: ...
    @property
    def cost_per_month(self) -> float | None: ...


class UsedUp(NamedTuple):
    """A limit that is used up."""

    limit: str
    """What is used up, in words: `100 requests per minute`."""
    wait_s: float
    """Seconds until there is more."""


def count_request(
    connection: sqlite3.Connection, owner: str, now_ms: int, limits: WindowLimits
) -> UsedUp | None:
    """Count a request, unless a limit is used up: then return which."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    for unit, window, wait_s in current_windows(now):
        query = "SELECT requests, tokens, cost FROM usage_windows WHERE owner = ? AND window = ?"
        row = connection.execute(query, (owner, window)).fetchone()
        used_up = find_used_up(limits, unit, dict(row or {}), wait_s)
        if used_up is not None:
            return used_up
    _add(connection, owner, now, requests=1)
    oldest = oldest_window(now)
    connection.execute(
        "DELETE FROM usage_windows WHERE owner = ? AND length(window) = ? AND window < ?",
        (owner, len(oldest), oldest),
    )
    return None


def current_windows(now: datetime) -> tuple[tuple[str, str, float], ...]:
    """Return the windows that a time is in: unit, name, and the seconds until it ends."""
    return (
        ("minute", _minute(now), 60.0 - now.second),
        ("month", _month(now), (_next_month(now) - now).total_seconds()),
    )


def oldest_window(now: datetime) -> str:
    """Return the name of the oldest minute that is kept."""
    return _minute(now - timedelta(minutes=_KEPT_MINUTES))


def find_used_up(
    limits: WindowLimits, unit: str, used: Mapping[str, float], wait_s: float
) -> UsedUp | None:
    """Return the limit of a window that is used up, or None."""
    for name in _COUNTS:
        limit = getattr(limits, f"{name}_per_{unit}")
        if limit is not None and used.get(name, 0) >= limit:
            what = f"${limit:g}" if name == "cost" else f"{limit} {name}"
            return UsedUp(f"{what} per {unit}", wait_s)
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


def _month(now: datetime) -> str:
    return now.strftime("%Y-%m")


def _next_month(now: datetime) -> datetime:
    first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)

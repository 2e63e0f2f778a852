"""Rate limits: how often something may be done, for each user, name or address."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

_MAX_BUCKETS: Final = 10_000


class Bucket:
    """A rate limit: refills continuously up to its capacity; each request takes one. The capacity
    is a minute's worth if it is not given."""

    def __init__(self, per_minute: float, now_s: float, capacity: float | None = None) -> None:
        self._per_minute = per_minute
        self._capacity = per_minute if capacity is None else capacity
        self._level = float(self._capacity)
        self._at_s = now_s

    def take(self, now_s: float) -> float:
        """Take one and return 0, or return the seconds until there will be one."""
        self._refill(now_s)
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) * 60 / self._per_minute

    def give_back(self) -> None:
        """Give back what was taken last."""
        self._level = min(self._capacity, self._level + 1)

    def is_full(self, now_s: float) -> bool:
        """Return whether the bucket has refilled, so that it can be dropped."""
        self._refill(now_s)
        return self._level >= self._capacity

    def _refill(self, now_s: float) -> None:
        gained = max(0.0, now_s - self._at_s) * self._per_minute / 60
        self._level = min(self._capacity, self._level + gained)
        self._at_s = now_s


class Buckets:
    """A bucket for each key. Their number is limited: if there are too many, those that have
    refilled are dropped, or the oldest ones."""

    def __init__(self, max_buckets: int = _MAX_BUCKETS) -> None:
        self._max_buckets = max_buckets
        self._buckets: dict[Hashable, Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(
        self, key: Hashable, now_s: float, per_minute: float, capacity: float | None = None
    ) -> float:
        """Take one and return 0, or return the seconds until there will be one."""
        if key not in self._buckets and len(self._buckets) >= self._max_buckets:
            self._drop_some(now_s)
        bucket = self._buckets.setdefault(key, Bucket(per_minute, now_s, capacity))
        return bucket.take(now_s)

    def give_back(self, key: Hashable) -> None:
        """Give back what was taken last."""
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket.give_back()

    def _drop_some(self, now_s: float) -> None:
        full = [key for key, bucket in self._buckets.items() if bucket.is_full(now_s)]
        # Several at once, so that not every new key looks through all of them.
        oldest = list(self._buckets)[: self._max_buckets // 10]
        for key in full or oldest:
            del self._buckets[key]

"""Quotas: how many requests and live runs one user, and all users together, may have."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

from headrace.server.http_error import HTTPError
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.settings import Settings

_MAX_BUCKETS = 10_000


class Bucket:
    """A rate limit: refills continuously up to a minute's worth; each request takes one."""

    def __init__(self, per_minute: int, now_s: float) -> None:
        self._per_minute = per_minute
        self._level = float(per_minute)
        self._at_s = now_s

    def take(self, now_s: float) -> float:
        """Take one and return 0, or return the seconds until there will be one."""
        gained = (now_s - self._at_s) * self._per_minute / 60
        self._level = min(self._per_minute, self._level + gained)
        self._at_s = now_s
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) * 60 / self._per_minute

    def is_full(self, now_s: float) -> bool:
        """Return whether the bucket has refilled, so that it can be dropped."""
        return now_s - self._at_s >= 60


class _Reservation(NamedTuple):
    owner: str
    is_over: asyncio.Event


class Quota:
    """Limits the live runs and the request rate.

    Runs that are about to start count as well, so that many requests at once get no more than one
    after another would. The limits on the answers and questions of a user apply only if access
    tokens are required.
    """

    def __init__(
        self, settings: Settings, runs: LiveRuns, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._runs = runs
        self._clock = clock
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._reservations: dict[str, _Reservation] = {}

    def active_run_ids(self) -> set[str]:
        """Return the ids of the runs that are live or about to start."""
        return {*self._reservations, *(row.id for row in self._runs.rows)}

    def count_request(self, owner: str) -> None:
        """Count a request. Raises an `HTTPError` of 429 if the user sends too many per minute."""
        per_minute = self._settings.asks_per_minute
        wait_s = self._count("ask", owner, per_minute) if self._settings.needs_token else 0.0
        if wait_s:
            text = f"too many questions: a user may ask {per_minute} per minute"
            raise HTTPError(429, "too_many_requests", text, retry_after_s=wait_s)

    def count_search(self, owner: str) -> None:
        """Count a search. Raises an `HTTPError` of 429 if the user sends too many per minute."""
        per_minute = self._settings.searches_per_minute
        wait_s = self._count("search", owner, per_minute)
        if wait_s:
            text = f"too many searches: a user may search {per_minute} times per minute"
            raise HTTPError(429, "too_many_searches", text, retry_after_s=wait_s)

    def check_stored_bytes(self, stored_bytes: int) -> None:
        """Raise an `HTTPError` of 403 if a user has stored as much as is allowed."""
        limit = self._settings.max_stored_bytes_per_user
        if stored_bytes >= limit:
            text = f"your conversations take all of your {limit} bytes: delete some of them"
            raise HTTPError(403, "storage_full", text)

    def _count(self, kind: str, owner: str, per_minute: int) -> float:
        """Count one, and return 0 or the seconds to wait."""
        now_s = self._clock()
        if len(self._buckets) >= _MAX_BUCKETS:
            self._drop_full_buckets(now_s)
        bucket = self._buckets.setdefault((kind, owner), Bucket(per_minute, now_s))
        return bucket.take(now_s)

    @contextmanager
    def reserve(
        self, owner: str, run_id: str, *, is_checked: bool = True
    ) -> Generator[None, None, None]:
        """Reserve a place for a run while it starts. Raises an `HTTPError` of 429, unless the run
        follows another one and `is_checked` is False."""
        if is_checked:
            self._check_live_runs(owner)
        reservation = self._reservations[run_id] = _Reservation(owner, asyncio.Event())
        try:
            yield
        finally:
            del self._reservations[run_id]
            reservation.is_over.set()

    async def wait_for_start(self, run_id: str) -> None:
        """Wait until a run that is about to start has started, or could not."""
        reservation = self._reservations.get(run_id)
        if reservation is not None:
            await reservation.is_over.wait()

    def _check_live_runs(self, owner: str) -> None:
        settings = self._settings
        owners = Counter(reservation.owner for reservation in self._reservations.values())
        owners.update(row.owner for row in self._runs.rows)
        if owners.total() >= settings.max_live_runs:
            text = f"the server is busy: it writes at most {settings.max_live_runs} answers at once"
            raise HTTPError(429, "busy", text, retry_after_s=1.0)
        if settings.needs_token and owners[owner] >= settings.max_live_runs_per_user:
            limit = settings.max_live_runs_per_user
            text = f"wait for one of your answers: at most {limit} are written at once"
            raise HTTPError(429, "too_many_runs", text, retry_after_s=1.0)

    def _drop_full_buckets(self, now_s: float) -> None:
        full = [owner for owner, bucket in self._buckets.items() if bucket.is_full(now_s)]
        for owner in full:
            del self._buckets[owner]

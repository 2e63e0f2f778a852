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
from headrace.server.runs.rate_limit import Buckets
from headrace.server.settings import Settings


class _Reservation(NamedTuple):
    owner: str
    is_over: asyncio.Event


class Quota:
    """Limits the live runs and the request rate.

    Runs that are about to start count as well, so that many requests at once get no more than one
    after another would. The limits on the answers and questions of a user apply only if the
    server has users.
    """

    def __init__(
        self, settings: Settings, runs: LiveRuns, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._runs = runs
        self._clock = clock
        self._buckets = Buckets()
        self._reservations: dict[str, _Reservation] = {}

    def active_run_ids(self) -> set[str]:
        """Return the ids of the runs that are live or about to start."""
        return {*self._reservations, *(row.id for row in self._runs.rows)}

    def count_request(self, owner: str) -> None:
        """Count a request. Raises an `HTTPError` of 429 if the user sends too many per minute."""
        per_minute = self._settings.asks_per_minute
        wait_s = self._count("ask", owner, per_minute) if self._settings.has_users else 0.0
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
        return self._buckets.take((kind, owner), self._clock(), per_minute)

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
        if settings.has_users and owners[owner] >= settings.max_live_runs_per_user:
            limit = settings.max_live_runs_per_user
            text = f"wait for one of your answers: at most {limit} are written at once"
            raise HTTPError(429, "too_many_runs", text, retry_after_s=1.0)

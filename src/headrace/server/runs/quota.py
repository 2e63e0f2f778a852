"""Room: how much of the server one user, and all of them together, may take."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

from headrace.server.http_error import Problem
from headrace.server.runs.live_runs import LiveRuns
from headrace.server.settings import Settings
from headrace.server.storage.store import RunRow

_MAX_BUCKETS = 10_000


class Bucket:
    """Fills by itself, up to a minute's worth; each request takes one out."""

    def __init__(self, per_minute: int, now_s: float) -> None:
        self._per_minute = per_minute
        self._level = float(per_minute)
        self._at_s = now_s

    def take(self, now_s: float) -> float:
        """Zero where there was one to take, else the seconds until there will be."""
        gained = (now_s - self._at_s) * self._per_minute / 60
        self._level = min(self._per_minute, self._level + gained)
        self._at_s = now_s
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) * 60 / self._per_minute

    def is_full(self, now_s: float) -> bool:
        """Whether nothing is lost when it is forgotten."""
        return now_s - self._at_s >= 60


class _Beginning(NamedTuple):
    """A run that is about to begin."""

    owner: str
    is_over: asyncio.Event


class Room:
    """Asked before each run begins. It counts runs that are about to begin as well, so that many
    requests at once get no more than one after the other would.

    The limits of a user hold where there are tokens, and thus users."""

    def __init__(
        self, settings: Settings, runs: LiveRuns, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._runs = runs
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._beginning: dict[str, _Beginning] = {}

    def taken(self) -> set[str]:
        """The runs that somebody works at, or is about to."""
        return {*self._beginning, *(row.id for row in self._live())}

    def admit(self, owner: str) -> None:
        """Count a request. Raises a `Problem` of 429 for one too many in a minute."""
        per_minute = self._settings.asks_per_minute
        if not self._settings.needs_token:
            return
        now_s = self._clock()
        if len(self._buckets) >= _MAX_BUCKETS:
            self._forget(now_s)
        bucket = self._buckets.setdefault(owner, Bucket(per_minute, now_s))
        wait_s = bucket.take(now_s)
        if wait_s:
            text = f"a user may ask {per_minute} times a minute: wait"
            raise Problem(429, "too_many_requests", text, retry_after_s=wait_s)

    @contextmanager
    def place(self, owner: str, run_id: str) -> Generator[None, None, None]:
        """A place for a run that begins. Raises a `Problem` of 429 where there is none."""
        self._check(owner)
        beginning = self._beginning[run_id] = _Beginning(owner, asyncio.Event())
        try:
            yield
        finally:
            del self._beginning[run_id]
            beginning.is_over.set()

    async def settled(self, run_id: str) -> None:
        """Until a run that is about to begin has begun, or could not."""
        beginning = self._beginning.get(run_id)
        if beginning is not None:
            await beginning.is_over.wait()

    def _check(self, owner: str) -> None:
        settings = self._settings
        owners = Counter(beginning.owner for beginning in self._beginning.values())
        owners.update(row.owner for row in self._live())
        if owners.total() >= settings.max_live_runs:
            text = f"{settings.max_live_runs} answers are being written: wait"
            raise Problem(429, "busy", text, retry_after_s=1.0)
        if settings.needs_token and owners[owner] >= settings.max_live_runs_per_user:
            text = f"{settings.max_live_runs_per_user} of your answers are being written: wait"
            raise Problem(429, "too_many_runs", text, retry_after_s=1.0)

    def _live(self) -> list[RunRow]:
        found = (self._runs.get(event_id) for event_id in self._runs.ids)
        return [live.row for live in found if live is not None]

    def _forget(self, now_s: float) -> None:
        full = [owner for owner, bucket in self._buckets.items() if bucket.is_full(now_s)]
        for owner in full:
            del self._buckets[owner]

"""What a server does about runs, files and counts from time to time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.server.storage.files.files import KEEP_MS

if TYPE_CHECKING:
    from headrace.server.service import Service

# How many runs with an expired request are continued at once.
_EXPIRED_REQUESTS: Final = 100
# Live runs wait for the transaction that deletes records, so it is kept short.
_EXPIRED_PER_TRANSACTION: Final = 16


class RunChores:
    """Continues runs whose requests have expired, and deletes what is too old."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def expire_requests(self) -> int:
        """Continue suspended runs with a request that has expired; return how many."""
        service = self._service
        claimed = left = 0
        while claimed < _EXPIRED_REQUESTS:
            most = _EXPIRED_REQUESTS - claimed
            rows = await service.store.expired_runs(service.clock(), most, skip=left)
            if not rows:
                break
            for row in rows:
                if await service.runs.claim(row):
                    claimed += 1
                else:
                    # Its agent is not here. The others must not wait for it.
                    left += 1
        return claimed

    async def expire_records(self) -> int:
        """Delete the records of runs that ended `keep_logs_s` ago; return how many runs.

        Nothing is deleted while the clock may be wrong; see `ClockCheck`.
        """
        service = self._service
        now_ms = service.clock()
        if not await service.storage.is_clock_trusted(now_ms):
            return 0
        before_ms = now_ms - int(service.settings.keep_logs_s * 1000)
        old = await service.store.closed_runs(before_ms)
        for start in range(0, len(old), _EXPIRED_PER_TRANSACTION):
            chunk = old[start : start + _EXPIRED_PER_TRANSACTION]
            await service.log.delete(chunk)
            await service.store.mark_expired(chunk)
        return len(old)

    async def expire_files(self) -> int:
        """Delete uploaded files that nobody has sent for a day; return how many."""
        service = self._service
        now_ms = service.clock()
        if not await service.storage.is_clock_trusted(now_ms):
            return 0
        return await service.files.expire(now_ms - KEEP_MS)

    async def expire_counts(self) -> None:
        """Delete what was counted for limits of minutes and days that are over."""
        service = self._service
        now_ms = service.clock()
        if await service.storage.is_clock_trusted(now_ms):
            await service.usage.delete_old_windows(now_ms)

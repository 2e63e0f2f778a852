"""Retries before the first event of a stream."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from headrace.errors import RequestFailed
from headrace.log import get_logger

_logger = get_logger("transport")

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often to retry, and how long to wait.

    The wait doubles from `base_s` to `cap_s`, less a random share, so that clients that failed
    together do not return together. If the provider names a wait, that is used; a wait over `cap_s`
    means no retry.
    """

    attempts: int = 3
    """Number of attempts, including the first."""
    base_s: float = 0.5
    """Delay before the first retry."""
    cap_s: float = 30.0
    """Longest delay."""
    jitter: float = 0.5
    """Random share of a wait."""

    def wait_s(self, failed: RequestFailed, attempt: int, chance: float) -> float | None:
        """Return the wait after `attempt` (from 1), or None for no retry."""
        if not failed.retryable or attempt >= self.attempts:
            return None
        return self.pause_s(failed.retry_after_s, attempt, chance)

    def pause_s(self, retry_after_s: float | None, attempt: int, chance: float) -> float | None:
        """Return the wait after `attempt` if it is retry, or None if it would be too long."""
        wait_s: float = min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        wait_s *= 1 - self.jitter * chance
        if retry_after_s is None:
            return wait_s
        return None if retry_after_s > self.cap_s else max(wait_s, retry_after_s)


DEFAULT_POLICY = RetryPolicy()
NEVER = RetryPolicy(attempts=1)


async def retry(
    attempt: Callable[[], Awaitable[T]],
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """Return the result of `attempt`, retried by the policy. Raises the last `RequestFailed`."""
    number = 1
    while True:
        try:
            return await attempt()
        except RequestFailed as failed:
            wait_s = policy.wait_s(failed, number, chance())
            if wait_s is None:
                raise
            _log_retry(failed, number, wait_s)
        await sleep(wait_s)
        number += 1


def _log_retry(failed: RequestFailed, attempt: int, pause_s: float) -> None:
    fields = {
        "event": "request_retried",
        "category": failed.category,
        "status": failed.status,
        "attempt": attempt,
        "pause_s": pause_s,
        "request_id": failed.request_id,
    }
    text = "attempt %d failed (%s): the next one begins in %.1f s"
    _logger.warning(text, attempt, failed.category, pause_s, extra=fields)

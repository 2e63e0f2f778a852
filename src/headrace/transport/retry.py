"""Trying again, before the first event only."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from headrace.errors import RequestFailed

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and after how long.

    The wait doubles from `base_s` to `cap_s`, less a random share of it, so that clients
    that failed together do not come back together. A provider that names a time is given
    that time; one that asks for more than `cap_s` is not asked again.
    """

    attempts: int = 3
    """All of them, the first included."""
    base_s: float = 0.5
    cap_s: float = 30.0
    jitter: float = 0.5
    """The share of a wait that is left to chance."""

    def wait_s(self, failed: RequestFailed, attempt: int, chance: float) -> float | None:
        """How long to wait after `attempt` (from 1); None: do not try again."""
        if not failed.retryable or attempt >= self.attempts:
            return None
        return self.pause_s(failed.retry_after_s, attempt, chance)

    def pause_s(self, retry_after_s: float | None, attempt: int, chance: float) -> float | None:
        """How long to wait after `attempt`, where it is tried again; None: too long."""
        wait_s: float = min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        wait_s *= 1 - self.jitter * chance
        if retry_after_s is None:
            return wait_s
        return None if retry_after_s > self.cap_s else max(wait_s, retry_after_s)


DEFAULT_POLICY = RetryPolicy()
NEVER = RetryPolicy(attempts=1)


async def retried(
    attempt: Callable[[], Awaitable[T]],
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """What `attempt` gives, after as many tries as the policy allows; else the last
    `RequestFailed`."""
    number = 1
    while True:
        try:
            return await attempt()
        except RequestFailed as failed:
            wait_s = policy.wait_s(failed, number, chance())
            if wait_s is None:
                raise
        await sleep(wait_s)
        number += 1

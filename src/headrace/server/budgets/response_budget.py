"""A budget for the memory of responses that clients have requested but not read yet."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from headrace.server.http_error import HTTPError

MAX_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of all responses in memory."""
MAX_BYTES_PER_USER: Final = 8 * 1024 * 1024
"""Most bytes of the responses to one user in memory."""


class ResponseBudget:
    """Limits the memory that large responses take until their clients have read them.

    A request waits until there is space for its response. A response that is larger than the
    budget of a user is sent when it is the only one of that user.
    """

    def __init__(
        self,
        timeout_s: float,
        max_bytes: int = MAX_BYTES,
        max_bytes_per_user: int = MAX_BYTES_PER_USER,
    ) -> None:
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._max_bytes_per_user = max_bytes_per_user
        self._by_user: Counter[str] = Counter()
        self._waiting: set[asyncio.Future[None]] = set()
        self.used_bytes = 0
        """Bytes of the responses that are in memory."""

    @asynccontextmanager
    async def reserve(self, owner: str, size: int) -> AsyncGenerator[None, None]:
        """Reserve space for a response. Raises an `HTTPError` of 429 if there is none in time."""
        size = min(size, self._max_bytes_per_user)
        try:
            async with asyncio.timeout(self._timeout_s):
                while not self._has_space(owner, size):
                    await self._wait()
        except TimeoutError:
            text = "earlier responses were not read: read them, or close their connections"
            raise HTTPError(429, "too_many_unread", text, retry_after_s=5.0) from None
        self._add(owner, size)
        try:
            yield
        finally:
            self._add(owner, -size)
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)

    async def _wait(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    def _has_space(self, owner: str, size: int) -> bool:
        is_in_total = self.used_bytes + size <= self._max_bytes
        return is_in_total and self._by_user[owner] + size <= self._max_bytes_per_user

    def _add(self, owner: str, size: int) -> None:
        self.used_bytes += size
        self._by_user[owner] += size
        if not self._by_user[owner]:
            del self._by_user[owner]

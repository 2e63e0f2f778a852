"""A response that is made only when there is memory for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.server.budgets.response_budget import ResponseBudget

SMALL_BYTES: Final = 65_536
"""Size up to which a response needs no space in the budget."""


class BoundedResponse(Response):
    """Waits for space in the budget, makes a response, and keeps the space until it is sent."""

    def __init__(
        self,
        budget: ResponseBudget,
        owner: str,
        size: int,
        create: Callable[[], Awaitable[Response]],
    ) -> None:
        self._budget = budget
        self._owner = owner
        self._size = size
        self._create = create

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._size <= SMALL_BYTES:
            await (await self._create())(scope, receive, send)
            return
        async with self._budget.reserve(self._owner, self._size):
            await (await self._create())(scope, receive, send)

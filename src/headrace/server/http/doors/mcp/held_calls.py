"""Calls of MCP clients, and those that wait in memory for the answers of their client."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from headrace.server.http.doors.mcp.client_link import ANSWER_S, ClientLink
from headrace.tools.left_behind import CURRENT_CALLS, MAX_CALLS_PER_USER, LeftBehindByUser

_MAX_HELD: Final = 1_000
_MAX_HELD_PER_USER: Final = 20
_MAX_RUNNING_PER_USER: Final = 100
# Questions that a call asks at the same time go to the client together.
_GATHER_S: Final = 0.01

Work = Callable[[ClientLink], Awaitable[Any]]


class _Call:
    def __init__(self, owner: str, context: Any, work: Work) -> None:
        self.owner = owner
        self.link = ClientLink(context)
        self.task = asyncio.ensure_future(work(self.link))
        self.ends_s: float | None = None
        """When the call ends if it still waits, by the clock of the event loop."""
        self.expiry: asyncio.TimerHandle | None = None


class HeldCalls:
    """The calls of MCP clients. One that asks its client, in the revision 2026-07-28, waits here
    until the client sends the request again, `ANSWER_S` after its first question at most. The state
    that the client gets is only the id of the call: it has to be protected by
    `RequestStateBoundary`.

    A user may have 20 calls that wait here, and 100 at the same time in all.
    """

    def __init__(self) -> None:
        self._held: dict[str, _Call] = {}
        self._calls: Counter[str] = Counter()
        self._left_behind = LeftBehindByUser(MAX_CALLS_PER_USER)

    def __len__(self) -> int:
        return len(self._held)

    async def answer(self, owner: str, context: Any, params: Any, work: Work) -> Any:
        """Do the work for a request, or go on with it, and return its result or the questions of
        the call. A request that is cancelled cancels the work."""
        state = params.request_state
        call = self._start(owner, context, work) if state is None else self._take(owner, state)
        is_held = False
        try:
            call.link.resume(context, params.input_responses or {})
            asked = await self._run(call)
            if not asked:
                return call.task.result()
            result = types.InputRequiredResult(input_requests=asked, request_state=self._hold(call))
            is_held = True
            return result
        finally:
            if not is_held:
                # A cancelled request must not wait for the end of the work.
                call.task.cancel()

    @contextmanager
    def count(self, owner: str) -> Generator[None, None, None]:
        """Count a request that never asks its client among the calls of its user while it runs.
        Raises `MCPError` if the user has too many."""
        self._check_running(owner)
        self._calls[owner] += 1
        token = CURRENT_CALLS.set(self._left_behind.of(owner))
        try:
            yield
        finally:
            CURRENT_CALLS.reset(token)
            self._forget(owner)

    def _check_running(self, owner: str) -> None:
        if self._calls[owner] >= _MAX_RUNNING_PER_USER:
            raise MCPError(types.INTERNAL_ERROR, "too many calls at the same time: try again later")

    def _start(self, owner: str, context: Any, work: Work) -> _Call:
        self._check_running(owner)
        left_behind = self._left_behind.of(owner)

        async def run(link: ClientLink) -> Any:
            CURRENT_CALLS.set(left_behind)
            return await work(link)

        call = _Call(owner, context, run)
        self._calls[owner] += 1
        call.task.add_done_callback(lambda _: self._forget(owner))
        return call

    def _forget(self, owner: str) -> None:
        self._calls[owner] -= 1
        if not self._calls[owner]:
            del self._calls[owner]

    async def _run(self, call: _Call) -> dict[str, Any]:
        """Wait until the work is done or has asked. Returns the questions."""
        link = call.link
        while not call.task.done():
            asking = asyncio.ensure_future(link.asked.wait())
            try:
                await asyncio.wait({call.task, asking}, return_when=asyncio.FIRST_COMPLETED)
                if not call.task.done():
                    await asyncio.wait({call.task}, timeout=_GATHER_S)
            finally:
                asking.cancel()
            # A question may have been taken back meanwhile.
            if not call.task.done() and (questions := link.open_requests):
                return questions
        return {}

    def _hold(self, call: _Call) -> str:
        owned = sum(held.owner == call.owner for held in self._held.values())
        if len(self._held) >= _MAX_HELD or owned >= _MAX_HELD_PER_USER:
            raise MCPError(types.INTERNAL_ERROR, "too many calls wait for answers: try again later")
        loop = asyncio.get_running_loop()
        call_id = secrets.token_urlsafe(16)
        self._held[call_id] = call
        if call.ends_s is None:
            call.ends_s = loop.time() + ANSWER_S
        call.expiry = loop.call_at(call.ends_s, self._expire, call_id)
        return call_id

    def _take(self, owner: str, call_id: str) -> _Call:
        call = self._held.get(call_id)
        if call is None or call.owner != owner:
            why = "this call does not wait for answers any more: send it again without requestState"
            raise MCPError(types.INVALID_PARAMS, why)
        del self._held[call_id]
        if call.expiry is not None:
            call.expiry.cancel()
        return call

    def _expire(self, call_id: str) -> None:
        call = self._held.pop(call_id, None)
        if call is not None:
            call.task.cancel()

    def close(self) -> None:
        """End the calls that wait."""
        for call_id in list(self._held):
            self._expire(call_id)

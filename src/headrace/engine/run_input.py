"""`RunInput`: the part of a run that takes input from outside while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.content import PromptContent
from headrace.engine.input.inbox import Inbox
from headrace.engine.input.requests import InputRequests
from headrace.engine.run_scope import RunScope
from headrace.events import InputDecision, UserMessageAdded
from headrace.messages import InputRequest, Message


class RunInput:
    """Answers and messages for a run. All methods may be called from any thread."""

    _inputs: InputRequests
    _inbox: Inbox
    _scope: RunScope
    _event_loop: asyncio.AbstractEventLoop | None

    @property
    def requests(self) -> list[InputRequest]:
        """What the run waits for: approvals, results and answers, those of sub-agents included."""
        return self._inputs.open

    @property
    def takes_answers(self) -> bool:
        """Whether the run has not stopped, so that `requests` can be answered."""
        return not self._inputs.is_closed

    def answer(
        self,
        request_id: str,
        decision: InputDecision = "accepted",
        value: Any = None,
        *,
        is_always: bool = False,
        reason: str | None = None,
        by: str | None = None,
        entry_id: str | None = None,
    ) -> None:
        """Answer one of `requests`. Can be called from any thread.

        `value` is the result or the text that was asked for; for an approval, it may be other
        arguments for the call. `is_always` approves later calls of the same tool in this run too.
        Raises `AlreadyAnswered` if somebody else was faster, and `UsageError` for a request that
        does not exist or a value that does not fit.
        """
        answer = partial(
            self._inputs.answer,
            request_id,
            decision,
            value,
            is_always=is_always,
            reason=reason,
            by=by,
            entry_id=entry_id,
        )
        self._call_on_loop(answer)

    def steer(
        self,
        *content: str | PromptContent,
        by: str | None = None,
        entry_id: str | None = None,
        said_at_ms: int | None = None,
    ) -> None:
        """Say something to the model while the run goes on. It is sent with the next step. Can be
        called from any thread. What comes too late for that is in `unsent`."""
        message = Message.user(*content)
        added = UserMessageAdded(
            content=message.content,
            said_at_ms=int(self._scope.clock()) if said_at_ms is None else said_at_ms,
            by=by,
            entry_id=entry_id,
        )
        self._inbox.add(added)

    @property
    def unsent(self) -> list[UserMessageAdded]:
        """What was said with `steer()` and has not reached the model."""
        return self._inbox.messages

    def _call_on_loop(self, work: Callable[[], Any]) -> None:
        """Call a function on the event loop of the run, and raise here what it raises."""
        loop = self._event_loop
        try:
            is_here = loop is None or loop is asyncio.get_running_loop()
        except RuntimeError:
            is_here = loop is None
        if is_here or loop is None or loop.is_closed():
            work()
            return

        async def call() -> None:
            work()

        asyncio.run_coroutine_threadsafe(call(), loop).result()

    def _on_loop(self, work: Callable[[], None]) -> None:
        loop = self._event_loop
        try:
            is_here = loop is None or loop is asyncio.get_running_loop()
        except RuntimeError:
            is_here = loop is None
        if is_here or loop is None:
            work()
        elif not loop.is_closed():
            loop.call_soon_threadsafe(work)

"""All middleware of a run as one: each hook in order, failures with a name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from inspect import isawaitable, iscoroutinefunction
from typing import Any

import msgspec

from headrace.encoders import Request
from headrace.engine.middleware.middleware import (
    Allow,
    Deny,
    Middleware,
    RunView,
    ToolCall,
)
from headrace.errors import HeadraceError, Terminate
from headrace.events import Event, Record, RunFailed, RunFinished
from headrace.messages import Turn
from headrace.secrets.scrub import scrub
from headrace.tools import ToolReturn


class MiddlewareFailed(HeadraceError):
    """A hook raised; the message names it."""


class Chain:
    """Calls the hooks that are there. `observers` and `rewriters` are known beforehand,
    since they are asked for every event."""

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        self._middleware = tuple(middleware)
        self.observers = self._hooks("on_event")
        self.rewriters = self._hooks("rewrite_event")
        self.is_plain = not any(map(iscoroutinefunction, self.observers))
        """Whether no observer has to be waited for."""

    def _hooks(self, name: str) -> tuple[Callable[..., Any], ...]:
        base = getattr(Middleware, name)
        hooks = [getattr(one, name) for one in self._middleware]
        return tuple(hook for hook in hooks if getattr(hook, "__func__", None) is not base)

    async def start(self, run: RunView) -> None:
        for hook in self._hooks("on_run_start"):
            await _asked(hook, run)

    async def request(self, run: RunView, request: Request) -> Request:
        for hook in self._hooks("on_request"):
            request = _expected(hook, await _asked(hook, run, request), Request) or request
        return request

    def notify(self, run: RunView, record: Record) -> None:
        """Show a record to plain observers. Everybody sees it, also behind one who fails; the
        first failure is raised then."""
        failure: HeadraceError | None = None
        for hook in self.observers:
            try:
                if hook(run, record) is not None:
                    _refuse_answer(hook)
            except Terminate as terminate:
                failure = failure or terminate
            except _THE_PROCESS:
                raise
            except BaseException as error:  # noqa: BLE001 (whatever it is, it gets a name)
                failure = failure or _failed(hook, error)
        if failure is not None:
            raise failure

    def notify_all(self, run: RunView, records: list[Record]) -> None:
        """The same for several."""
        failure: HeadraceError | None = None
        for record in records:
            try:
                self.notify(run, record)
            except (Terminate, MiddlewareFailed) as failed:
                failure = failure or failed
        if failure is not None:
            raise failure

    async def observe(self, run: RunView, records: list[Record]) -> None:
        """The same where an observer is async."""
        failure: HeadraceError | None = None
        for record in records:
            for hook in self.observers:
                try:
                    await _asked(hook, run, record)
                except (Terminate, MiddlewareFailed) as error:
                    failure = failure or error
        if failure is not None:
            raise failure

    async def rewrite(
        self, run: RunView, event: Event
    ) -> tuple[list[Event], Event | None, HeadraceError | None]:
        """What the rewriters make of an event; the latest form of it that one of them gave
        back; and the first failure, at which the others are not asked."""
        events: list[Event] = [event]
        last: Event | None = None
        for hook in self.rewriters:
            made: list[Event] = []
            try:
                for one in events:
                    made += await _asked(hook, run, one, then=_listed)
            except (Terminate, MiddlewareFailed) as failure:
                return [], last, failure
            events = made
            last = next((one for one in made if type(one) is type(event)), last)
        return events, last or event, None

    async def before_tool(self, run: RunView, call: ToolCall) -> Allow | Deny:
        """The first denial counts; arguments pass from one to the next."""
        for hook in self._hooks("before_tool"):
            decision = _expected(hook, await _asked(hook, run, call), Allow | Deny)
            if isinstance(decision, Deny):
                return decision
            if isinstance(decision, Allow):
                call = ToolCall(call.call_id, call.name, decision.args)
        return Allow(call.args)

    async def after_tool(self, run: RunView, call: ToolCall, result: ToolReturn) -> ToolReturn:
        for hook in self._hooks("after_tool"):
            answer = await _asked(hook, run, call, result)
            result = _expected(hook, answer, ToolReturn) or result
        return result

    async def turn_end(self, run: RunView, turn: Turn) -> str | None:
        """What to go on with; the first answer counts, and an empty one is none."""
        for hook in self._hooks("on_turn_end"):
            said: str | None = _expected(hook, await _asked(hook, run, turn), str)
            if said:
                return said
        return None

    async def run_end(self, run: RunView, event: RunFinished | RunFailed) -> None:
        """Everybody is told; the first failure is raised when all are."""
        failure: HeadraceError | None = None
        for hook in self._hooks("on_run_end"):
            try:
                await _asked(hook, run, event)
            except (MiddlewareFailed, Terminate) as error:
                failure = failure or error
        if failure is not None:
            raise failure


# What ends the process, and is nobody's failure.
_THE_PROCESS = (KeyboardInterrupt, SystemExit)


async def _asked(
    hook: Callable[..., Any], *arguments: Any, then: Callable[[Any], Any] | None = None
) -> Any:
    """The answer of a hook. Whatever it raises is its own failure, but for `Terminate` and for
    the cancellation of the task that asks."""
    try:
        answer = hook(*arguments)
        answer = await answer if isawaitable(answer) else answer
        return answer if then is None else then(answer)
    except (Terminate, *_THE_PROCESS):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _failed(hook, error) from None
    except BaseException as error:
        raise _failed(hook, error) from error


def _failed(hook: Callable[..., Any], error: BaseException) -> MiddlewareFailed:
    why = scrub(f"{type(error).__name__}: {error}")
    failed = MiddlewareFailed(f"{_name_of(hook)} raised {why}")
    failed.__cause__ = error
    return failed


def _name_of(hook: Callable[..., Any]) -> str:
    owner = type(getattr(hook, "__self__", None)).__name__
    return f"{owner}.{getattr(hook, '__name__', 'a hook')}"


def _expected(hook: Callable[..., Any], answer: Any, kind: Any) -> Any:
    """The answer, or None. Anything else is a mistake that must not be taken for a yes."""
    if answer is None or isinstance(answer, kind):
        return answer
    got = type(answer).__name__
    raise MiddlewareFailed(f"{_name_of(hook)} returned {got}, where {kind} or None was expected")


def _refuse_answer(hook: Callable[..., Any]) -> None:
    raise TypeError("it returned something: an observer returns None, or is an async def")


def _listed(made: Event | Iterable[Event] | None) -> list[Event]:
    if made is None:
        return []
    events: list[Any] = [made] if isinstance(made, msgspec.Struct) else list(made)
    for event in events:
        if not isinstance(event, msgspec.Struct):
            raise TypeError(f"expected events, got {type(event).__name__}")
    return events

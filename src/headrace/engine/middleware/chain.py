"""All middleware of a run as one: each hook in order, failures with a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import isawaitable, iscoroutinefunction
from typing import Any, cast

import msgspec

from headrace.engine.middleware.middleware import (
    Allow,
    Deny,
    Middleware,
    RunView,
    ToolCall,
)
from headrace.engine.terminate import Terminate
from headrace.engine.tools import ToolReturn
from headrace.errors import HeadraceError
from headrace.events import Event, Record, RunFailed, RunFinished
from headrace.messages import Turn
from headrace.requests import Request


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
            request = await _asked(hook, run, request) or request
        return request

    def notify(self, run: RunView, *records: Record) -> None:
        """Show the records to plain observers. Everybody sees every record, also behind one
        who fails; the first failure is raised then."""
        failure: HeadraceError | None = None
        for record in records:
            for hook in self.observers:
                try:
                    hook(run, record)
                except Terminate as terminate:
                    failure = failure or terminate
                except Exception as error:  # noqa: BLE001 (whatever it is, it gets a name)
                    failure = failure or _failed(hook, error)
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

    async def rewrite(self, run: RunView, event: Event) -> list[Event]:
        events: list[Event] = [event]
        for hook in self.rewriters:
            made: list[Event] = []
            for one in events:
                made += _listed(await _asked(hook, run, one))
            events = made
        return events

    async def before_tool(self, run: RunView, call: ToolCall) -> Allow | Deny:
        """The first denial counts; arguments pass from one to the next."""
        for hook in self._hooks("before_tool"):
            decision = await _asked(hook, run, call)
            if isinstance(decision, Deny):
                return decision
            if isinstance(decision, Allow):
                call = ToolCall(call.call_id, call.name, decision.args)
        return Allow(call.args)

    async def after_tool(self, run: RunView, call: ToolCall, result: ToolReturn) -> ToolReturn:
        for hook in self._hooks("after_tool"):
            result = await _asked(hook, run, call, result) or result
        return result

    async def turn_end(self, run: RunView, turn: Turn) -> str | None:
        """What to go on with; the first answer counts."""
        for hook in self._hooks("on_turn_end"):
            said = await _asked(hook, run, turn)
            if said is not None:
                return cast("str", said)
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


async def _asked(hook: Callable[..., Any], *arguments: Any) -> Any:
    try:
        answer = hook(*arguments)
        return await answer if isawaitable(answer) else answer
    except Terminate:
        raise
    except Exception as error:
        raise _failed(hook, error) from error


def _failed(hook: Callable[..., Any], error: Exception) -> MiddlewareFailed:
    owner = type(getattr(hook, "__self__", None)).__name__
    name = getattr(hook, "__name__", "a hook")
    failed = MiddlewareFailed(f"{owner}.{name} raised {type(error).__name__}: {error}")
    failed.__cause__ = error
    return failed


def _listed(made: Event | Iterable[Event] | None) -> list[Event]:
    if made is None:
        return []
    return [made] if isinstance(made, msgspec.Struct) else list(made)

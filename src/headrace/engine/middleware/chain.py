"""`Chain`: calls each hook of all middleware in order, and names the one that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import lru_cache
from inspect import isawaitable, iscoroutinefunction
from typing import Any, NoReturn

import msgspec

from headrace.encoders import Request
from headrace.engine.middleware.middleware import (
    HOOKS,
    Allow,
    Ask,
    Deny,
    Middleware,
    RunView,
    ToolCall,
)
from headrace.errors import HeadraceError, Terminate
from headrace.events import Event, Record, RunFailed, RunFinished, TraceIds
from headrace.messages import Turn
from headrace.secrets.scrub import scrub
from headrace.tools import ToolReturn


class MiddlewareFailed(HeadraceError):
    """A hook raised an exception; the message names the hook."""


class Chain:
    """The middleware of a run. `observers` and `rewriters` are looked up once, because they are
    called for every event."""

    __slots__ = (
        "_around_tool", "_around_turn", "_middleware", "is_passive", "is_plain", "observers",
        "rewriters", "skips_repeated_deltas",
    )  # fmt: skip

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        self._middleware = tuple(middleware)
        observing = [entry for entry in self._middleware if _overrides(entry, "on_event")]
        self.observers = tuple(entry.on_event for entry in observing)
        self.rewriters = self._hooks("rewrite_event")
        self.is_plain = not any(map(iscoroutinefunction, self.observers))
        """Whether no observer is async."""
        self.is_passive = all(entry.is_passive for entry in observing)
        """Whether no observer is async or may raise."""
        self.skips_repeated_deltas = self.is_passive and all(
            entry.skips_repeated_deltas for entry in observing
        )
        """Whether no observer needs a delta like the one before, in the same millisecond."""
        self._around_turn = self._hooks("around_turn")
        self._around_tool = self._hooks("around_tool")

    def inherit(self, outer: Chain) -> None:
        """Also call the `around_turn` and `around_tool` hooks of the run around this one."""
        self._around_turn = tuple(dict.fromkeys((*outer._around_turn, *self._around_turn)))
        self._around_tool = tuple(dict.fromkeys((*outer._around_tool, *self._around_tool)))

    def _hooks(self, name: str) -> tuple[Callable[..., Any], ...]:
        return tuple(getattr(one, name) for one in self._middleware if _overrides(one, name))

    async def start_trace(self, run: RunView) -> TraceIds | None:
        """Call all hooks, and return the first ids."""
        first: TraceIds | None = None
        for hook in self._hooks("start_trace"):
            ids: TraceIds | None = _check_type(hook, await _call(hook, run), TraceIds)
            first = first or ids
        return first

    async def start(self, run: RunView) -> None:
        for hook in self._hooks("on_run_start"):
            await _call(hook, run)

    @property
    def unresumable(self) -> str | None:
        """The name of middleware whose runs cannot be resumed, or None."""
        names = (type(entry).__name__ for entry in self._middleware if not entry.is_resumable)
        return next(names, None)

    async def resume(self, run: RunView) -> None:
        for hook in self._hooks("on_run_resume"):
            await _call(hook, run)

    async def request(self, run: RunView, request: Request) -> Request:
        for hook in self._hooks("on_request"):
            request = _check_type(hook, await _call(hook, run, request), Request) or request
        return request

    def around_turn(self, run: RunView, request: Request) -> AbstractContextManager[object]:
        """Return what is to be entered while a request is sent."""
        return _enter_all(self._around_turn, run, request) if self._around_turn else nullcontext()

    def around_tool(self, run: RunView, call: ToolCall) -> AbstractContextManager[object]:
        """Return what is to be entered while a tool runs."""
        return _enter_all(self._around_tool, run, call) if self._around_tool else nullcontext()

    def notify(self, run: RunView, record: Record) -> None:
        """Call plain observers. All of them are called; then the first error is raised."""
        first_error: HeadraceError | None = None
        for hook in self.observers:
            try:
                if hook(run, record) is not None:
                    reject_answer()
            except BaseException as error:  # noqa: BLE001 (whatever it is, the hook is named)
                first_error = first_error or name_error(hook, error)
        if first_error is not None:
            raise first_error

    def notify_all(self, run: RunView, records: list[Record]) -> None:
        """Call plain observers with several records, then raise the first error."""
        errors: list[HeadraceError] = []
        for record in records:
            try:
                self.notify(run, record)
            except (Terminate, MiddlewareFailed) as error:
                errors.append(error)
        if errors:
            raise errors[0]

    async def observe(self, run: RunView, records: list[Record]) -> None:
        """Call observers of which at least one is async, then raise the first error."""
        await _call_all((hook, run, record) for record in records for hook in self.observers)

    async def rewrite(
        self, run: RunView, event: Event
    ) -> tuple[list[Event], Event | None, HeadraceError | None]:
        """Call the rewriters. Returns what they made of the event, the latest form of it that
        one of them returned, and the first error, after which the others are not called."""
        events: list[Event] = [event]
        latest: Event | None = None
        for hook in self.rewriters:
            results: list[Event] = []
            try:
                for entry in events:
                    results += await _call(hook, run, entry, convert=_to_events)
            except (Terminate, MiddlewareFailed) as error:
                return [], latest, error
            events = results
            latest = next((entry for entry in results if type(entry) is type(event)), latest)
        return events, latest or event, None

    async def before_tool(self, run: RunView, call: ToolCall) -> tuple[Allow | Deny, Ask | None]:
        """Return the first denial, or the arguments as all hooks leave them; and the first wish
        to ask a person."""
        ask: Ask | None = None
        for hook in self._hooks("before_tool"):
            decision = _check_type(hook, await _call(hook, run, call), Allow | Deny | Ask)
            if isinstance(decision, Deny):
                return decision, None
            if isinstance(decision, Ask):
                ask = ask or decision
            elif isinstance(decision, Allow):
                call = ToolCall(call.call_id, call.name, decision.args)
        return Allow(call.args), ask

    async def after_tool(self, run: RunView, call: ToolCall, result: ToolReturn) -> ToolReturn:
        for hook in self._hooks("after_tool"):
            answer = await _call(hook, run, call, result)
            result = _check_type(hook, answer, ToolReturn) or result
        return result

    async def turn_end(self, run: RunView, turn: Turn) -> str | None:
        """Return the first text to continue with that is not empty, or None."""
        for hook in self._hooks("on_turn_end"):
            nudge: str | None = _check_type(hook, await _call(hook, run, turn), str)
            if nudge:
                return nudge
        return None

    async def run_end(self, run: RunView, event: RunFinished | RunFailed) -> None:
        """Call all hooks, then raise the first error."""
        await _call_all((hook, run, event) for hook in self._hooks("on_run_end"))


def reject_answer() -> NoReturn:
    """Raise the error for a plain observer that has returned a value."""
    raise TypeError("it returned a value: an observer returns None, or is async")


def name_error(hook: Callable[..., Any], error: BaseException) -> HeadraceError:
    """Return what to raise for an exception of a plain observer: `Terminate` as it is, any other as
    a `MiddlewareFailed` that names the hook. Exceptions that end the process are raised here."""
    if isinstance(error, _PROCESS_EXITS):
        raise error
    return error if isinstance(error, Terminate) else _hook_error(hook, error)


def _overrides(entry: Middleware, name: str) -> bool:
    """Return whether middleware has a hook of its own under this name."""
    kind: Any = type(entry)
    return name in _find_own_hooks(kind) or name in vars(entry)


@lru_cache(maxsize=64)
def _find_own_hooks(kind: type[Any]) -> frozenset[str]:
    """Return the names that a class of middleware defines otherwise than `Middleware`. A hook that
    is added to a class after its first run is not called."""
    return frozenset(
        name for name in HOOKS if getattr(kind, name, None) is not getattr(Middleware, name)
    )


def _enter_all(
    hooks: Sequence[Callable[..., Any]], *arguments: Any
) -> AbstractContextManager[object]:
    """Return a context manager that enters what the hooks return. An exception of a hook becomes a
    `MiddlewareFailed`."""
    managers: list[AbstractContextManager[object]] = []
    for hook in hooks:
        try:
            manager = hook(*arguments)
        except (Terminate, *_PROCESS_EXITS):
            raise
        except BaseException as error:
            raise _hook_error(hook, error) from error
        manager = _check_type(hook, manager, AbstractContextManager)
        if manager is not None:
            managers.append(manager)
    if len(managers) == 1:
        return managers[0]
    stack = ExitStack()
    for manager in managers:
        stack.enter_context(manager)
    return stack


# Exceptions that end the process; they are not errors of a hook.
_PROCESS_EXITS = (KeyboardInterrupt, SystemExit)


async def _call(
    hook: Callable[..., Any], *arguments: Any, convert: Callable[[Any], Any] | None = None
) -> Any:
    """Call a hook and convert its answer. Any exception becomes a `MiddlewareFailed`, except
    `Terminate` and the cancellation of the current task."""
    try:
        answer = hook(*arguments)
        answer = await answer if isawaitable(answer) else answer
        return answer if convert is None else convert(answer)
    except (Terminate, *_PROCESS_EXITS):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _hook_error(hook, error) from None
    except BaseException as error:
        raise _hook_error(hook, error) from error


async def _call_all(calls: Iterable[tuple[Callable[..., Any], Any, Any]]) -> None:
    first_error: HeadraceError | None = None
    for hook, *arguments in calls:
        try:
            await _call(hook, *arguments)
        except (Terminate, MiddlewareFailed) as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error


def _hook_error(hook: Callable[..., Any], error: BaseException) -> MiddlewareFailed:
    why = scrub(f"{type(error).__name__}: {error}")
    failed = MiddlewareFailed(f"{_name_of(hook)} raised {why}")
    failed.__cause__ = error
    return failed


def _name_of(hook: Callable[..., Any]) -> str:
    owner = type(getattr(hook, "__self__", None)).__name__
    return f"{owner}.{getattr(hook, '__name__', 'a hook')}"


def _check_type(hook: Callable[..., Any], answer: Any, kind: Any) -> Any:
    """Return the answer if it is None or of this type. A wrong answer must not count as a yes."""
    if answer is None or isinstance(answer, kind):
        return answer
    got = type(answer).__name__
    raise MiddlewareFailed(f"{_name_of(hook)} returned {got}, where {kind} or None was expected")


def _to_events(answer: Event | Iterable[Event] | None) -> list[Event]:
    if answer is None:
        return []
    events: list[Any] = [answer] if isinstance(answer, msgspec.Struct) else list(answer)
    for event in events:
        if not isinstance(event, msgspec.Struct):
            raise TypeError(f"expected events, got {type(event).__name__}")
    return events

"""`Tool` and `@tool`: a typed Python function that a model may call."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any, TypeAlias, overload
from weakref import WeakKeyDictionary

from headrace.encoders import ToolSpec
from headrace.errors import Terminate, UsageError
from headrace.secrets.scrub import scrub
from headrace.tools.arguments import Arguments, ArgumentsInvalid
from headrace.tools.context import ToolContext
from headrace.tools.function import Function, check_name
from headrace.tools.left_behind import CURRENT_CALLS, RunningCall
from headrace.tools.result import InvalidResult, ToolReturn, to_tool_return, tool_error
from headrace.tools.schema import schema_of
from headrace.tools.worker_thread import Outcome, run_in_thread

NeedsApproval: TypeAlias = bool | Callable[[Any], bool]
"""Whether calls need an approval, or a function that tells it for the arguments of a call."""

# The caller that cancels a call also waits for it; the wait here must end before that one.
_SHARE_OF_CLOSING = 0.9


class Tool:
    """A function that a model may call, with its description and limits.

    The name, the description and the schema of the arguments come from the function's name,
    docstring and annotations. A tool can still be called like the function. Functions that are
    not async run in a thread.
    With `needs_approval`, a person is asked before each call, or before those for whose arguments
    the given function returns True. `is_idempotent` tells that running the same call twice does
    no harm: a call that was cut off when its process was killed is then run again.
    Raises `UsageError` for a function that cannot be a tool, and for a limit that is not positive.
    """

    def __init__(  # noqa: PLR0913 (the options of a tool)
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        kind: str | None = None,
        timeout_s: float | None = None,
        max_concurrent: int | None = None,
        max_result_chars: int | None = None,
        is_strict: bool = False,
        needs_approval: NeedsApproval = False,
        is_idempotent: bool = False,
    ) -> None:
        inspected = Function(function)
        self.function = function
        self.name = check_name(name or inspected.name)
        self.description = inspected.description if description is None else description
        self.kind = kind
        self.timeout_s = _check_positive("timeout_s", timeout_s)
        self.max_concurrent = _check_positive("max_concurrent", max_concurrent)
        self.max_result_chars = _check_positive("max_result_chars", max_result_chars)
        self.is_strict = is_strict
        self.is_idempotent = is_idempotent
        self._needs_approval = needs_approval
        self.is_async = inspected.is_async
        self._context_names = inspected.context_names
        try:
            self._arguments = Arguments(inspected.parameters)
            self.parameters = schema_of(inspected.parameters, is_strict=is_strict)
        except UsageError as error:
            raise UsageError(f"{self.name} cannot be a tool: {error}") from None

        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without validation, limits or a thread."""
        return self.function(*args, **kwargs)

    def slots(self) -> asyncio.Semaphore | nullcontext[None]:
        """Return the semaphore that a call holds while it runs. At most `max_concurrent` calls
        run at once on one event loop, over all runs."""
        if self.max_concurrent is None:
            return nullcontext()
        loop = asyncio.get_running_loop()
        return self._slots.setdefault(loop, asyncio.Semaphore(self.max_concurrent))

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is described to a provider."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            is_strict=self.is_strict,
        )

    def needs_approval(self, args: Any) -> bool:
        """Return whether a person must approve a call with these arguments. A function that
        cannot tell, because it raises, counts as a yes."""
        if isinstance(self._needs_approval, bool):
            return self._needs_approval
        try:
            return bool(self._needs_approval(args))
        except Exception:  # noqa: BLE001 (an edge: the function is the user's)
            return True

    def find_problem(self, args: Any) -> str | None:
        """Return what is wrong with the arguments of a call, or None."""
        try:
            self._arguments.read(args)
        except ArgumentsInvalid as error:
            return f"the arguments do not fit: {error}"
        return None

    async def execute(self, args: Any, context: ToolContext) -> ToolReturn:
        """Validate the arguments and run the function.

        Errors become an error result for the model; only cancellation and `Terminate` are
        raised. A cancelled call is waited for, `context.closing_s` at most. While too many calls
        go on after that, no other one starts; see `LeftBehindCalls`.
        """
        if problem := CURRENT_CALLS.get().find_problem():
            return tool_error(f"{self.name} was not run: {problem}")
        try:
            arguments = self._arguments.read(args)
            arguments |= dict.fromkeys(self._context_names, context)
            return to_tool_return(await self._call(arguments, context), self.kind)
        except ArgumentsInvalid as error:
            return tool_error(f"The arguments do not fit {self.name}: {error}")
        except InvalidResult as error:
            return tool_error(f"{self.name} returned {error}")
        except Terminate:
            raise
        except asyncio.CancelledError:
            if _is_task_cancelled():
                raise
            return tool_error(f"{self.name} failed: it was cancelled from within")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (an edge: a tool may raise anything)
            return tool_error(f"{self.name} failed: {scrub(_describe(error))}")

    async def _call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        call = functools.partial(self.function, **arguments)
        running = RunningCall(CURRENT_CALLS.get())
        if self.is_async:
            return await _wait_for(_start_task(call(), running), running, context)
        value = await _wait_for(run_in_thread(call, running.end), running, context)
        # A wrapper that is not a coroutine function may still return a coroutine.
        if inspect.isawaitable(value):
            running = RunningCall(CURRENT_CALLS.get())
            return await _wait_for(_start_task(value, running), running, context)
        return value


async def _wait_for(
    outcome_of: asyncio.Future[Outcome], running: RunningCall, context: ToolContext
) -> Any:
    try:
        await asyncio.wait([outcome_of])
    except asyncio.CancelledError:
        context.cancel()
        if isinstance(outcome_of, asyncio.Task):
            outcome_of.cancel()
        # A thread cannot be stopped and a coroutine may ignore it, so the wait is bounded.
        await asyncio.wait([outcome_of], timeout=context.closing_s * _SHARE_OF_CLOSING)
        running.leave()
        outcome_of.cancel()
        raise
    outcome = outcome_of.result()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _start_task(call: Awaitable[Any], running: RunningCall) -> asyncio.Task[Outcome]:
    """Await the call in a task of its own, which can be left behind. Exceptions become values,
    so that none of them can end the event loop."""

    async def run() -> Outcome:
        try:
            return Outcome(await call)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (raised where it is awaited)
            return Outcome(error=error)

    task = asyncio.create_task(run(), name="tool function")
    task.add_done_callback(lambda _: running.end())
    return task


def _is_task_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _describe(error: BaseException) -> str:
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 (an edge: the exception is the tool's own class)
        words = ""
    return ": ".join(filter(None, (type(error).__name__, words)))


def _check_positive(name: str, limit: Any) -> Any:
    if limit is not None and not limit > 0:
        raise UsageError(f"{name} must be more than 0; got {limit}")
    return limit


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    kind: str | None = None,
    timeout_s: float | None = None,
    max_concurrent: int | None = None,
    max_result_chars: int | None = None,
    is_strict: bool = False,
    needs_approval: NeedsApproval = False,
    is_idempotent: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function: `@tool`, or `@tool(timeout_s=10, kind="web_search")` with the
    keyword arguments of `Tool`."""
    if function is not None:
        return Tool(function, **options)

    def decorate(function: Callable[..., Any]) -> Tool:
        return Tool(function, **options)

    return decorate

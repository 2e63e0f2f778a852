"""Tools: plain typed functions that a model may call."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from typing import Any, overload
from weakref import WeakKeyDictionary

from headrace import encoders
from headrace.errors import Terminate, UsageError
from headrace.secrets.scrub import scrub
from headrace.tools.arguments import Arguments, ArgumentsInvalid
from headrace.tools.context import ToolContext
from headrace.tools.function import Function, checked_name
from headrace.tools.result import NoResult, ToolReturn, failure, tool_return
from headrace.tools.schema import schema_of
from headrace.tools.thread import Outcome, in_thread

# Whoever cancels a call waits for it too; this wait must be over first.
_SHARE_OF_CLOSING = 0.9


class Tool:
    """A function with what the model is told of it, and its bounds.

    The name, the description and the schema come from the function: its name, docstring
    and annotations. Plain functions run in a thread, so that they block nobody. Raises
    `UsageError` for a function that cannot be a tool, and for bounds that are none.
    """

    def __init__(
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
    ) -> None:
        known = Function(function)
        self.function = function
        self.name = checked_name(name or known.name)
        self.description = known.description if description is None else description
        self.kind = kind
        self.timeout_s = _positive("timeout_s", timeout_s)
        self.max_concurrent = _positive("max_concurrent", max_concurrent)
        self.max_result_chars = _positive("max_result_chars", max_result_chars)
        self.is_strict = is_strict
        self.is_async = known.is_async
        self._context_names = known.context_names
        try:
            self._arguments = Arguments(known.parameters)
            self.parameters = schema_of(known.parameters, is_strict=is_strict)
        except UsageError as error:
            raise UsageError(f"{self.name} cannot be a tool: {error}") from None

        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def slots(self) -> asyncio.Semaphore | nullcontext[None]:
        """What a call holds while it runs: `max_concurrent` of them over all runs of an event
        loop."""
        if self.max_concurrent is None:
            return nullcontext()
        loop = asyncio.get_running_loop()
        return self._slots.setdefault(loop, asyncio.Semaphore(self.max_concurrent))

    @property
    def request(self) -> encoders.ToolSpec:
        """What a provider is told."""
        return encoders.ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            is_strict=self.is_strict,
        )

    async def execute(self, args: Any, context: ToolContext) -> ToolReturn:
        """Validate and run. What goes wrong is a result for the model; only cancellation and
        `Terminate` leave here. A call that is cancelled is waited for, `context.closing_s`
        at most."""
        try:
            arguments = self._arguments.read(args)
            arguments |= dict.fromkeys(self._context_names, context)
            return tool_return(await self._called(arguments, context), self.kind)
        except ArgumentsInvalid as error:
            return failure(f"The arguments do not fit {self.name}: {error}")
        except NoResult as error:
            return failure(f"{self.name} returned {error}")
        except Terminate:
            raise
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            return failure(f"{self.name} failed: it was cancelled from within")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (an edge: a tool may raise anything)
            return failure(f"{self.name} failed: {scrub(_told(error))}")

    async def _called(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        call = functools.partial(self.function, **arguments)
        if self.is_async:
            return await self._result(_in_task(call()), context)
        value = await self._result(in_thread(call), context)
        # A wrapper that is no coroutine function may still have made a coroutine.
        return await self._result(_in_task(value), context) if inspect.isawaitable(value) else value

    async def _result(self, running: asyncio.Future[Outcome], context: ToolContext) -> Any:
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            context.cancel()
            if isinstance(running, asyncio.Task):
                running.cancel()
            # A thread cannot be stopped, and a coroutine may refuse: neither holds up a run.
            await asyncio.wait([running], timeout=context.closing_s * _SHARE_OF_CLOSING)
            running.cancel()
            raise
        outcome = running.result()
        if outcome.error is not None:
            raise outcome.error
        return outcome.value


def _in_task(call: Awaitable[Any]) -> asyncio.Task[Outcome]:
    return asyncio.create_task(_awaited(call), name="tool's own")


async def _awaited(call: Awaitable[Any]) -> Outcome:
    """A task of its own, so that it can be left behind. What would end the whole loop is
    kept from it."""
    try:
        return Outcome(await call)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the edge: raised where it is awaited)
        return Outcome(error=error)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _told(error: BaseException) -> str:
    try:
        words = str(error)
    except Exception:  # noqa: BLE001 (an edge: the error is the tool's own)
        words = ""
    return ": ".join(filter(None, (type(error).__name__, words)))


def _positive(name: str, bound: Any) -> Any:
    if bound is not None and not bound > 0:
        raise UsageError(f"{name} must be more than 0; got {bound}")
    return bound


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
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, or `@tool(timeout_s=10, kind="web_search")` with the
    options of `Tool`."""
    if function is not None:
        return Tool(function, **options)
    return lambda made: Tool(made, **options)


class Toolset:
    """The tools of an agent, by name."""

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]]) -> None:
        made = [one if isinstance(one, Tool) else Tool(one) for one in tools]
        self._tools = {one.name: one for one in made}
        if len(self._tools) != len(made):
            names = [one.name for one in made]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise UsageError(f"two tools are called {', '.join(twice)}")
        self.requests = tuple(one.request for one in made)

    def get(self, name: str) -> Tool | None:
        """The tool of this name."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which the tools were given."""
        return tuple(self._tools)

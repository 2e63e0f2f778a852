"""Tools: plain typed functions that a model may call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from typing import Any, overload

from headrace import requests
from headrace.engine.terminate import Terminate
from headrace.engine.tools.context import ToolContext
from headrace.engine.tools.result import ToolReturn, failure, tool_return
from headrace.engine.tools.schema import ArgumentsInvalid, Signature, description_of
from headrace.errors import UsageError


class Tool:
    """A function with what the model is told of it, and its bounds.

    The name, the description and the schema come from the function: its name, docstring
    and annotations. Plain functions run in a thread, so that they block nobody.
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
        self.function = function
        self.name = name or function.__name__
        self.description = description_of(function) if description is None else description
        self.kind = kind
        self.timeout_s = timeout_s
        self.max_concurrent = max_concurrent
        self.max_result_chars = max_result_chars
        self.is_strict = is_strict
        self._signature = Signature(function)
        self.is_async = inspect.iscoroutinefunction(function)

    @property
    def request(self) -> requests.Tool:
        """What a provider is told."""
        return requests.Tool(
            name=self.name,
            description=self.description,
            parameters=self._signature.parameters,
            is_strict=self.is_strict,
        )

    async def execute(self, args: Any, context: ToolContext) -> ToolReturn:
        """Validate and run. What goes wrong is a result for the model; only cancellation and
        `Terminate` leave here."""
        try:
            arguments = self._signature.arguments(args)
            if self._signature.context_name is not None:
                arguments[self._signature.context_name] = context
            return tool_return(await self._called(arguments, context), self.kind)
        except ArgumentsInvalid as error:
            return failure(f"The arguments do not fit {self.name}: {error}")
        except Terminate:
            raise
        except Exception as error:
            return failure(f"{self.name} failed: {type(error).__name__}: {error}")

    async def _called(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        if self.is_async:
            return await self.function(**arguments)
        running = asyncio.ensure_future(asyncio.to_thread(self.function, **arguments))
        try:
            result = await asyncio.shield(running)
        except asyncio.CancelledError:
            # A thread cannot be stopped: it is told, and waited for by whoever cancels.
            context.cancel()
            await asyncio.wait([running])
            raise
        return await result if inspect.isawaitable(result) else result


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(**options: Any) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, or `@tool(timeout_s=10, kind="web_search")` with the
    options of `Tool`."""
    if function is not None:
        return Tool(function)
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

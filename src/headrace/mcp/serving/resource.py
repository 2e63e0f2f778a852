"""`MCPResource`: something that MCP clients can read at a URI."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from headrace.errors import HeadraceError, UsageError
from headrace.tools.left_behind import CURRENT_CALLS, RunningCall
from headrace.tools.worker_thread import run_in_thread

_VARIABLE = re.compile(r"\{(\w+)\}")


class TooManyReads(HeadraceError):
    """Too many functions of resources are still running although their requests have ended."""


class MCPResource:
    """A text or bytes at a URI, or the function that returns them.

    A URI with variables, such as `notes://{id}`, is a template: the function gets their values as
    keyword arguments. A value ends at the next slash, or at the character that follows the variable
    in the template; it is not `..`, so that it cannot leave a folder. A function that is not async
    runs in a thread; if it raises `LookupError`, there is no such resource. Raises `UsageError` for
    a template without a function, and for variables with nothing between them.
    """

    def __init__(
        self,
        uri: str,
        content: str | bytes | Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        media_type: str | None = None,
    ) -> None:
        self.uri = uri
        self.name = name or uri
        self.description = description
        self._content = content
        is_binary = isinstance(content, bytes)
        self.media_type = media_type or ("application/octet-stream" if is_binary else "text/plain")
        self.variables: tuple[str, ...] = tuple(_VARIABLE.findall(uri))
        if self.variables and not callable(content):
            raise UsageError(f"the resource {uri} has variables, so its content must be a function")
        self._pattern = re.compile(_write_pattern(uri))

    @property
    def is_template(self) -> bool:
        """Whether the URI has variables."""
        return bool(self.variables)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables in a URI, or None if the URI is another one."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in found.groupdict().items()}
        is_unsafe = any(v in (".", "..") or re.search(r"[/\\\0]", v) for v in values.values())
        return None if is_unsafe else values

    async def read(self, values: dict[str, str]) -> str | bytes:
        """Return the content. Raises what its function raises, and `TypeError` if the function
        returns neither a text nor bytes."""
        content: Any = self._content
        if callable(content):
            if inspect.iscoroutinefunction(content):
                content = await content(**values)
            else:
                content = await _call_in_thread(partial(content, **values))
        if not isinstance(content, str | bytes):
            raise TypeError(f"the resource {self.uri} is a {type(content).__name__}, not a text")
        return content


async def _call_in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own. One that is cancelled goes on, and counts as a call
    that was left behind. Raises `TooManyReads` if there are too many of these."""
    calls = CURRENT_CALLS.get()
    if problem := calls.find_problem():
        raise TooManyReads(problem)
    running = RunningCall(calls)
    future = run_in_thread(function, running.end)
    try:
        outcome = await asyncio.shield(future)
    except asyncio.CancelledError:
        running.leave()
        raise
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _write_pattern(uri: str) -> str:
    """Return a pattern for the URIs of a template. There is one way to read a URI, so it takes
    linear time."""
    texts, names = _VARIABLE.split(uri)[::2], _VARIABLE.findall(uri)
    if "" in texts[1:-1]:
        raise UsageError(f"the resource {uri} has two variables with nothing between them")
    if len(set(names)) < len(names) or not all(name.isidentifier() for name in names):
        raise UsageError(f"the variables of the resource {uri} must be different Python names")
    pattern = re.escape(texts[0])
    for name, text in zip(names, texts[1:], strict=True):
        pattern += f"(?P<{name}>[^/{re.escape(text[:1])}]+){re.escape(text)}"
    return pattern

"""Calling a tool as a run does, without a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from headrace.content import JSONContent, TextContent
from headrace.tools import Tool, ToolContext, ToolReturn


def called(function: Callable[..., Any] | Tool, args: Any = None, **given: Any) -> ToolReturn:
    made = function if isinstance(function, Tool) else Tool(function)
    return asyncio.run(made.execute(given if args is None else args, ToolContext()))


def told(result: ToolReturn) -> str:
    """The result as one text."""
    words = []
    for entry in result.content:
        if isinstance(entry, TextContent):
            words.append(entry.text)
        else:
            assert isinstance(entry, JSONContent)
            words.append(msgspec.json.encode(entry.value).decode())
    return "\n".join(words)


def value(result: ToolReturn) -> Any:
    assert not result.is_error, told(result)
    (entry,) = result.content
    return entry.value if isinstance(entry, JSONContent) else told(result)


def complaint(result: ToolReturn) -> str:
    assert result.is_error, told(result)
    return told(result)

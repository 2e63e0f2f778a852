"""What a tool gives back, and how plain Python values become that."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent

CONTENT_TYPES = (TextContent, JSONContent, ImageContent, FileContent)


class ToolReturn(msgspec.Struct, frozen=True, kw_only=True):
    """A result with all that can be said of it. Tools may return plain values instead."""

    content: tuple[Content, ...] = ()
    kind: str | None = None
    """What it is, for those who show it: `web_search`, `artifact`, `image` …"""
    is_error: bool = False
    ends_run: bool = False
    """Whether the run ends when all calls of this turn are answered."""


def failure(message: str) -> ToolReturn:
    """A result that tells the model what went wrong."""
    return ToolReturn(content=(TextContent(message),), is_error=True)


def tool_return(value: Any, kind: str | None = None) -> ToolReturn:
    """Whatever a tool returned, as a result: text as text, content as it is, a list of
    content as several, anything else as JSON. Raises `TypeError` for what is no JSON."""
    if isinstance(value, ToolReturn):
        return value if value.kind or not kind else msgspec.structs.replace(value, kind=kind)
    return ToolReturn(content=_content(value), kind=kind)


def _content(value: Any) -> tuple[Content, ...]:
    if value is None:
        return (TextContent("Done."),)
    if isinstance(value, str):
        return (TextContent(value),)
    if isinstance(value, CONTENT_TYPES):
        return (value,)
    entries: list[Any] = list(value) if isinstance(value, list | tuple) else []
    if entries and all(isinstance(entry, CONTENT_TYPES) for entry in entries):
        return tuple(entries)
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    return (JSONContent(msgspec.to_builtins(value)),)


def shortened(result: ToolReturn, max_chars: int) -> ToolReturn:
    """A result whose text is within the limit; the cut is said. Nothing else is cut: JSON
    that is too long becomes text."""
    room = max_chars
    content: list[Content] = []
    for entry in result.content:
        text = _text(entry)
        if text is None or len(text) <= room:
            room -= 0 if text is None else len(text)
            content.append(entry)
            continue
        missing = len(text) - room
        content.append(TextContent(f"{text[:room]}\n[cut: {missing} more characters]"))
        room = 0
    return msgspec.structs.replace(result, content=tuple(content))


def _text(entry: Content) -> str | None:
    if isinstance(entry, TextContent):
        return entry.text
    if isinstance(entry, JSONContent):
        return msgspec.json.encode(entry.value).decode()
    return None

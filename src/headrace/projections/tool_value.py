"""Tool results as JSON values for display."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent, data_url


class ToolValue(msgspec.Struct, frozen=True):
    """The result of a tool, or its error."""

    result: Any = None
    error: str | None = None


def tool_value(content: tuple[Content, ...], *, is_error: bool) -> ToolValue:
    """Return the value of a tool result: one content item is its value, several are a list.

    An error is always a text.
    """
    values = [_plain(entry) for entry in content]
    value = values[0] if len(values) == 1 else values or None
    if not is_error:
        return ToolValue(value)
    if value is None:
        return ToolValue(error="failed")
    if isinstance(value, str):
        return ToolValue(error=value or "failed")
    return ToolValue(error=msgspec.json.encode(value).decode())


def _plain(entry: Content) -> Any:
    match entry:
        case TextContent():
            return entry.text
        case JSONContent():
            return entry.value
        case ImageContent():
            return {"type": "image", "media_type": entry.media_type, "url": data_url(entry)}
        case FileContent():
            url = data_url(entry)
            fields = {"type": "file", "media_type": entry.media_type, "url": url}
            return fields if entry.name is None else {**fields, "name": entry.name}

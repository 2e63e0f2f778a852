"""What a tool gave, as a JSON value for those who show it."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent


class Outcome(msgspec.Struct, frozen=True):
    """The result, or what went wrong."""

    result: Any = None
    error: str | None = None


def outcome(content: tuple[Content, ...], *, is_error: bool) -> Outcome:
    """One content is its value, several are a list of them. An error is always a text."""
    values = [_plain(entry) for entry in content]
    value = values[0] if len(values) == 1 else values or None
    if not is_error:
        return Outcome(value)
    if value is None:
        return Outcome(error="failed")
    if isinstance(value, str):
        return Outcome(error=value or "failed")
    return Outcome(error=msgspec.json.encode(value).decode())


def media_url(media_type: str, data: str | None, url: str | None) -> str:
    """The address of a picture, sound or file, or the thing itself as one."""
    return url or f"data:{media_type};base64,{data or ''}"


def _plain(entry: Content) -> Any:
    match entry:
        case TextContent():
            return entry.text
        case JSONContent():
            return entry.value
        case ImageContent():
            url = media_url(entry.media_type, entry.data, entry.url)
            return {"type": "image", "media_type": entry.media_type, "url": url}
        case FileContent():
            url = media_url(entry.media_type, entry.data, entry.url)
            fields = {"type": "file", "media_type": entry.media_type, "url": url}
            return fields if entry.name is None else {**fields, "name": entry.name}

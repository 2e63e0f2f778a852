"""Results of tools as the content of AG-UI's tool messages."""

from __future__ import annotations

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.events import JSONObject

_KINDS = ("image", "audio", "video")


def to_tool_content(content: tuple[Content, ...]) -> str | list[JSONObject]:
    """Return a text if the result has only texts and JSON values, otherwise a list of parts."""
    if all(isinstance(entry, TextContent | JSONContent) for entry in content):
        return "\n".join(_to_text(entry) for entry in content)
    return [_to_part(entry) for entry in content]


def _to_text(entry: Content) -> str:
    if isinstance(entry, TextContent):
        return entry.text
    assert isinstance(entry, JSONContent)
    return msgspec.json.encode(entry.value).decode()


def _to_part(entry: Content) -> JSONObject:
    if isinstance(entry, TextContent | JSONContent):
        return {"type": "text", "text": _to_text(entry)}
    return media_part(entry)


def media_part(entry: ImageContent | FileContent) -> JSONObject:
    """Return an image or a file as a part."""
    kind = entry.media_type.partition("/")[0]
    source = {"type": "data", "value": entry.data or "", "mimeType": entry.media_type}
    if entry.url is not None:
        source = {"type": "url", "value": entry.url, "mimeType": entry.media_type}
    return {"type": kind if kind in _KINDS else "document", "source": source}

"""The frames of one tool result, depending on its kind."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent, data_url
from headrace.events import JSONObject
from headrace.projections.thinking.frame import (
    ArtifactComplete,
    ImageComplete,
    ThinkingFrame,
    ToolResultFrame,
    WebSearch,
)


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool."""

    content: tuple[Content, ...] = ()
    kind: str | None = None
    is_error: bool = False


def result_frames(call_id: str, name: str, answer: ToolAnswer, at_ms: int) -> list[ThinkingFrame]:
    """Return the `tool_result` frame, followed by the frames that its kind adds."""
    value = _value(answer.content)
    if answer.is_error:
        text = value if isinstance(value, str) else _text(answer.content)
        return [ToolResultFrame(name, False, at_ms, call_id=call_id, error=text or "failed")]
    result = ToolResultFrame(name, True, at_ms, call_id=call_id, result=value)
    return [result, *_extra_frames(call_id, answer, value, at_ms)]


def _extra_frames(call_id: str, answer: ToolAnswer, value: Any, at_ms: int) -> list[ThinkingFrame]:
    if answer.kind == "web_search":
        return [WebSearch(_object(value), at_ms, call_id)]
    if answer.kind == "artifact":
        return [_artifact(call_id, answer, value, at_ms)]
    images = [entry for entry in answer.content if isinstance(entry, ImageContent)]
    return [
        ImageComplete(data_url(image), at_ms, call_id) for image in images if answer.kind == "image"
    ]


def _artifact(call_id: str, answer: ToolAnswer, value: Any, at_ms: int) -> ArtifactComplete:
    fields = _object(value)
    code = fields.get("code") or fields.get("content") or _text(answer.content)
    title, kind = fields.get("title"), fields.get("type")
    return ArtifactComplete(
        str(code),
        at_ms,
        artifactTitle=None if title is None else str(title),
        artifactType=None if kind is None else str(kind),
        call_id=call_id,
    )


def _object(value: Any) -> JSONObject:
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    return {} if value is None else {"results": value}


def _value(content: tuple[Content, ...]) -> Any:
    values = [_plain(entry) for entry in content]
    return values[0] if len(values) == 1 else values or None


def _plain(entry: Content) -> Any:
    match entry:
        case TextContent():
            return entry.text
        case JSONContent():
            return entry.value
        case ImageContent():
            return {"imageUrl": data_url(entry)}
        case FileContent():
            return {"name": entry.name, "media_type": entry.media_type, "url": data_url(entry)}


def _text(content: tuple[Content, ...]) -> str:
    return "\n".join(entry.text for entry in content if isinstance(entry, TextContent))

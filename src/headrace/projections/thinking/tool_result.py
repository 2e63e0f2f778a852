"""The frames of one tool result: that it ended, and what it made, by its kind."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.events import JSONObject
from headrace.projections.thinking.frame import (
    ArtifactComplete,
    ImageComplete,
    ThinkingFrame,
    ToolResultFrame,
    WebSearch,
)

# Tools that a provider runs have no kind of their own.
_KINDS = (
    (
        re.compile(
            r"(?:^|[^a-z])(?:web|browser|x)(?:[_.-](?:keyword|semantic|user))?[_.-]?search",
            re.IGNORECASE,
        ),
        "web_search",
    ),
    (re.compile(r"image.?gen", re.IGNORECASE), "image"),
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave."""

    content: tuple[Content, ...] = ()
    kind: str | None = None
    is_error: bool = False


def kind_of(name: str) -> str | None:
    """The kind of a provider's tool, from its name."""
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), None)


def result_frames(call_id: str, name: str, outcome: Outcome, at_ms: int) -> list[ThinkingFrame]:
    """`tool_result`, and after it what its kind adds."""
    value = _value(outcome.content)
    if outcome.is_error:
        text = value if isinstance(value, str) else _text(outcome.content)
        return [ToolResultFrame(name, False, at_ms, call_id=call_id, error=text or "failed")]
    result = ToolResultFrame(name, True, at_ms, call_id=call_id, result=value)
    return [result, *_made(call_id, outcome, value, at_ms)]


def _made(call_id: str, outcome: Outcome, value: Any, at_ms: int) -> list[ThinkingFrame]:
    if outcome.kind == "web_search":
        return [WebSearch(_object(value), at_ms, call_id)]
    if outcome.kind == "artifact":
        return [_artifact(call_id, outcome, value, at_ms)]
    images = [entry for entry in outcome.content if isinstance(entry, ImageContent)]
    return [
        ImageComplete(image_url(image), at_ms, call_id)
        for image in images
        if outcome.kind == "image"
    ]


def _artifact(call_id: str, outcome: Outcome, value: Any, at_ms: int) -> ArtifactComplete:
    fields = _object(value)
    code = fields.get("code") or fields.get("content") or _text(outcome.content)
    title, kind = fields.get("title"), fields.get("type")
    return ArtifactComplete(
        str(code),
        at_ms,
        artifactTitle=None if title is None else str(title),
        artifactType=None if kind is None else str(kind),
        call_id=call_id,
    )


def image_url(image: ImageContent) -> str:
    """The address of an image, or the image as one."""
    return image.url or f"data:{image.media_type};base64,{image.data or ''}"


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
            return {"imageUrl": image_url(entry)}
        case FileContent():
            return {"name": entry.name, "media_type": entry.media_type, "url": entry.url}


def _text(content: tuple[Content, ...]) -> str:
    return "\n".join(entry.text for entry in content if isinstance(entry, TextContent))

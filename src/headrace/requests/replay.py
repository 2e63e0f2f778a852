"""What of an earlier reply may be sent to this model: the rules that all grammars share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent
from headrace.messages import CallPart, Part, Reply
from headrace.requests.request import Request

_WORD = re.compile(r"[a-z]+")


def family(model: str | None) -> str:
    """The family of a model: `claude` of `anthropic/claude-sonnet-4-5`, `gpt` of `gpt-5`."""
    name = (model or "").lower().rpartition("/")[2]
    word = _WORD.search(name)
    return word[0] if word else ""


def is_own(reply: Reply, request: Request, dialect: str) -> bool:
    """Whether this model made the reply: seals are good only where they were made. What
    was never told (a recorded stream without a provider) does not speak against it."""
    return (
        reply.dialect == dialect
        and (reply.provider is None or request.provider in (None, reply.provider))
        and (reply.model is None or family(reply.model) == family(request.model))
    )


def grouped(parts: Iterable[Part]) -> list[list[Part]]:
    """The parts of each provider item together, in the order in which the items began."""
    items: dict[int, list[Part]] = {}
    for part in parts:
        items.setdefault(part.item, []).append(part)
    return list(items.values())


def text_of(content: Iterable[Content]) -> str:
    """Content as one text, for places that take nothing else; what is no text is named."""
    return "\n".join(_as_text(entry) for entry in content)


def _as_text(entry: Content) -> str:
    match entry:
        case TextContent(text=text):
            return text
        case JSONContent(value=value):
            return encoded(value)
        case ImageContent(media_type=kind):
            return f"[an image ({kind}), shown separately]"
        case FileContent(name=name, media_type=kind):
            return f"[a file: {name or kind}]"


def images_in(content: Iterable[Content]) -> list[ImageContent]:
    """The images, which some grammars take only from the user."""
    return [entry for entry in content if isinstance(entry, ImageContent)]


def data_url(entry: ImageContent | FileContent) -> str:
    """Where to get it: its own address, or itself as an address."""
    return entry.url or f"data:{entry.media_type};base64,{entry.data or ''}"


def arguments_as_written(call: CallPart) -> str:
    """The arguments as the model wrote them, for grammars that take a text."""
    return call.raw if call.raw.strip() else "{}"


def arguments_as_object(call: CallPart) -> Any:
    """The arguments for grammars that take an object; what never was one is shown as what
    it is, since the model reads it again."""
    if isinstance(call.args, dict) and call.error is None:
        return call.args  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return {"malformed_arguments": call.raw} if call.raw.strip() else {}


def encoded(value: Any) -> str:
    """A JSON value as text."""
    return msgspec.json.encode(value).decode()

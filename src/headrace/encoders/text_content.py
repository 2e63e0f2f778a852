"""What people and tools say, for places that take less than all of it."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent

_TEXTS = ("application/json", "application/xml", "application/yaml", "application/x-yaml")


def text_of(content: Iterable[Content]) -> str:
    """Content as one text; what is no text is named."""
    return "\n".join(filter(None, map(_as_text, content)))


def _as_text(entry: Content) -> str:
    match entry:
        case TextContent(text=text):
            return text
        case JSONContent(value=value):
            return encoded(value)
        case ImageContent(media_type=kind):
            return f"[an image ({kind}), shown separately]"
        case FileContent(name=name, media_type=kind):
            return named_text(entry) or f"[a file: {name or kind}]"


def spoken(content: Iterable[Content]) -> list[Content]:
    """The content without empty texts, which providers refuse."""
    return [e for e in content if not isinstance(e, TextContent) or e.text.strip()]


def media_in(content: Iterable[Content]) -> list[ImageContent | FileContent]:
    """Images and files that are no text."""
    return [
        entry
        for entry in content
        if isinstance(entry, ImageContent)
        or (isinstance(entry, FileContent) and file_text(entry) is None)
    ]


def images_in(content: Iterable[Content]) -> list[ImageContent]:
    """The images, which some grammars take only from the user."""
    return [entry for entry in content if isinstance(entry, ImageContent)]


def file_text(file: FileContent) -> str | None:
    """The words of a file that is text and lies before us; None for any other."""
    kind = file.media_type.partition(";")[0].strip().lower()
    if file.data is None or not (kind.startswith("text/") or kind in _TEXTS):
        return None
    try:
        return b64decode(file.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def named_text(file: FileContent) -> str | None:
    """A text file as text, under its name."""
    words = file_text(file)
    if words is None:
        return None
    return f"{file.name}:\n{words}" if file.name else words


def encoded(value: Any) -> str:
    """A JSON value as text."""
    return msgspec.json.encode(value).decode()

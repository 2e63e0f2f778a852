"""What people and tools say, for places that take less than all of it."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent

_TEXTS = ("application/json", "application/xml", "application/yaml", "application/x-yaml")


def to_text(content: Iterable[Content]) -> str:
    """Content as one text; what is no text is named."""
    return "\n".join(filter(None, map(_entry_to_text, content)))


def _entry_to_text(entry: Content) -> str:
    match entry:
        case TextContent(text=text):
            return text
        case JSONContent(value=value):
            return encode_json(value)
        case ImageContent(media_type=kind):
            return f"[an image ({kind}), shown separately]"
        case FileContent(name=name, media_type=kind):
            return format_text_file(entry) or f"[a file: {name or kind}]"


def drop_empty_texts(content: Iterable[Content]) -> list[Content]:
    """The content without empty texts, which providers refuse."""
    return [e for e in content if not isinstance(e, TextContent) or e.text.strip()]


def find_media(content: Iterable[Content]) -> list[ImageContent | FileContent]:
    """Images and files that are no text."""
    return [
        entry
        for entry in content
        if isinstance(entry, ImageContent)
        or (isinstance(entry, FileContent) and decode_text_file(entry) is None)
    ]


def find_images(content: Iterable[Content]) -> list[ImageContent]:
    """The images, which some grammars take only from the user."""
    return [entry for entry in content if isinstance(entry, ImageContent)]


def decode_text_file(file: FileContent) -> str | None:
    """The words of a file that is text and lies before us; None for any other."""
    kind = file.media_type.partition(";")[0].strip().lower()
    if file.data is None or not (kind.startswith("text/") or kind in _TEXTS):
        return None
    try:
        return b64decode(file.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def format_text_file(file: FileContent) -> str | None:
    """A text file as text, under its name."""
    words = decode_text_file(file)
    if words is None:
        return None
    return f"{file.name}:\n{words}" if file.name else words


def encode_json(value: Any) -> str:
    """A JSON value as text."""
    return msgspec.json.encode(value).decode()

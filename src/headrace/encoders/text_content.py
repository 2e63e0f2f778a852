"""Reduces message content to what a field of a request can hold."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.content import (
    CacheBreak,
    Content,
    FileContent,
    ImageContent,
    JSONContent,
    PromptContent,
    TextContent,
)
from headrace.errors import UsageError

_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/x-yaml")


def to_text(content: Iterable[PromptContent]) -> str:
    """Return content as one text; other content is named."""
    return "\n".join(filter(None, map(_entry_to_text, content)))


def _entry_to_text(entry: PromptContent) -> str:
    match entry:
        case TextContent(text=text):
            return text
        case JSONContent(value=value):
            return encode_json(value)
        case ImageContent(media_type=kind):
            return f"[an image ({kind}), shown separately]"
        case FileContent(name=name, media_type=kind):
            return format_text_file(entry) or f"[a file: {name or kind}]"
        case CacheBreak():
            return ""


def drop_empty_texts(content: Iterable[PromptContent]) -> list[Content]:
    """Return the content without empty texts, which providers reject, and without cache breaks."""
    said = [entry for entry in content if not isinstance(entry, CacheBreak)]
    return [e for e in said if not isinstance(e, TextContent) or e.text.strip()]


def check_image(image: ImageContent, who: str) -> ImageContent:
    """Return the image. Raises `UsageError` for a type that Anthropic and OpenAI cannot read."""
    if image.url is None and image.media_type not in _IMAGE_TYPES:
        raise UsageError(
            f"{who} reads JPEG, PNG, GIF and WebP images, and this is {image.media_type}:"
            " convert it"
        )
    return image


def find_media(content: Iterable[PromptContent]) -> list[ImageContent | FileContent]:
    """Return images, and files that are not text."""
    return [
        entry
        for entry in content
        if isinstance(entry, ImageContent)
        or (isinstance(entry, FileContent) and decode_text_file(entry) is None)
    ]


def find_images(content: Iterable[PromptContent]) -> list[ImageContent]:
    """Return the images, which some dialects accept only from the user."""
    return [entry for entry in content if isinstance(entry, ImageContent)]


def decode_text_file(file: FileContent) -> str | None:
    """Return the text of a text file whose data is present, or None."""
    kind = file.media_type.partition(";")[0].strip().lower()
    if file.data is None or not (kind.startswith("text/") or kind in _TEXTS):
        return None
    try:
        return b64decode(file.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def format_text_file(file: FileContent) -> str | None:
    """Return a text file as text under its name, or None."""
    words = decode_text_file(file)
    if words is None:
        return None
    return f"{file.name}:\n{words}" if file.name else words


def encode_json(value: Any) -> str:
    """Return a JSON value as text."""
    return msgspec.json.encode(value).decode()

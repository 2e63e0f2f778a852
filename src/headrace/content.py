"""Content values: the text, JSON, images and files in messages and tool results."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import msgspec


class TextContent(msgspec.Struct, frozen=True, tag="text", gc=False):
    """Plain or marked-up text."""

    text: str


class JSONContent(msgspec.Struct, frozen=True, tag="json"):
    """A JSON value, kept as a value and not as text."""

    value: Any


class ImageContent(msgspec.Struct, frozen=True, tag="image", kw_only=True, gc=False):
    """An image: base64 `data`, or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None


class FileContent(msgspec.Struct, frozen=True, tag="file", kw_only=True, gc=False):
    """A file: base64 `data`, or a `url`."""

    media_type: str
    name: str | None = None
    data: str | None = None
    url: str | None = None


Content: TypeAlias = TextContent | JSONContent | ImageContent | FileContent


class Media(Protocol):
    """Anything that is base64 `data` or a `url`, such as an image or a file."""

    @property
    def media_type(self) -> str: ...
    @property
    def data(self) -> str | None: ...
    @property
    def url(self) -> str | None: ...


def data_url(media: Media) -> str:
    """Return the address of the media: its own URL, or a data URL."""
    return media.url or f"data:{media.media_type};base64,{media.data or ''}"

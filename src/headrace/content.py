"""Content values: the text, JSON, images and files in messages and tool results."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

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


class CacheBreak(msgspec.Struct, frozen=True, tag="cache_break", gc=False, omit_defaults=True):
    """Marks a place in a user message up to which the provider is to cache the conversation.

    It says nothing to the model, and providers that cache by themselves are not told. With
    `cache=True` such places are chosen automatically.
    """

    ttl: Literal["5m", "1h"] | None = None
    """How long the provider keeps the cache, or None for its default."""


Content: TypeAlias = TextContent | JSONContent | ImageContent | FileContent
PromptContent: TypeAlias = Content | CacheBreak
"""What a message of the user consists of."""


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

"""Content as MCP clients get it."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import mcp_types as types
import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent, TextContent


def to_blocks(content: Iterable[Content]) -> list[Any]:
    """Return content as blocks of MCP: texts, images and sounds as such, other files as embedded
    resources, and what is only a URL as a link."""
    return [_to_block(entry) for entry in content]


def _to_block(entry: Content) -> Any:
    match entry:
        case TextContent():
            return types.TextContent(text=entry.text)
        case JSONContent():
            return types.TextContent(text=msgspec.json.encode(entry.value).decode())
        case ImageContent(data=str(data)):
            return types.ImageContent(data=data, mime_type=entry.media_type)
        case FileContent(data=str(data)) if entry.media_type.startswith("audio/"):
            return types.AudioContent(data=data, mime_type=entry.media_type)
        case FileContent(data=str(data)):
            uri = _to_uri(entry.name or "file")
            resource = to_contents(uri, entry.media_type, base64.b64decode(data))
            return types.EmbeddedResource(resource=resource)
        case _:
            name = getattr(entry, "name", None) or entry.url or ""
            return types.ResourceLink(name=name, uri=entry.url or "", mime_type=entry.media_type)


def _to_uri(name: str) -> str:
    return name if "://" in name else f"file:///{quote(name)}"


def to_contents(uri: str, media_type: str, content: str | bytes) -> Any:
    """Return the content of a resource. Bytes of a text type are sent as text if they are UTF-8."""
    if isinstance(content, bytes) and media_type.startswith("text/"):
        with suppress(UnicodeDecodeError):
            content = content.decode()
    if isinstance(content, str):
        return types.TextResourceContents(uri=uri, mime_type=media_type, text=content)
    blob = base64.b64encode(content).decode()
    return types.BlobResourceContents(uri=uri, mime_type=media_type, blob=blob)

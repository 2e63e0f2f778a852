"""What a server offers beside tools: prompts and resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from headrace.content import Content
from headrace.mcp.link import Link
from headrace.mcp.result import read_contents, to_content

_MAX_ENTRIES = 1_000
_MAX_PAGES = 64


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of a server: a text with arguments."""

    name: str
    description: str
    arguments: tuple[str, ...]
    """Names of the arguments."""
    required: tuple[str, ...]
    """Names of the arguments that must be given."""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a server lets its clients read, such as a file."""

    uri: str
    name: str
    description: str
    media_type: str | None


async def list_prompts(link: Link) -> list[Prompt]:
    """Return the prompts of a server."""
    entries = await _list_all(link, "prompts")
    return [
        Prompt(
            name=entry.name,
            description=entry.description or "",
            arguments=tuple(a.name for a in entry.arguments or ()),
            required=tuple(a.name for a in entry.arguments or () if a.required),
        )
        for entry in entries
    ]


async def list_resources(link: Link) -> list[Resource]:
    """Return the resources of a server."""
    return [
        Resource(
            uri=entry.uri,
            name=entry.name,
            description=entry.description or "",
            media_type=entry.mime_type,
        )
        for entry in await _list_all(link, "resources")
    ]


async def _list_all(link: Link, what: str) -> list[Any]:
    from mcp_types import PaginatedRequestParams

    connection = await link.connect()
    if getattr(connection.client.server_capabilities, what) is None:
        return []
    entries: list[Any] = []
    cursor: str | None = None
    async with link.session(link.limits.list_s) as session:
        for _ in range(_MAX_PAGES):
            ask: Any = session.list_prompts if what == "prompts" else session.list_resources
            page = await ask(params=PaginatedRequestParams(cursor=cursor))
            entries += getattr(page, what)
            cursor = page.next_cursor
            if not cursor or len(entries) >= _MAX_ENTRIES:
                break
    return entries[:_MAX_ENTRIES]


async def get_prompt(link: Link, name: str, arguments: Mapping[str, str]) -> str:
    """Return the text of a prompt: its messages, one after the other."""
    async with link.session(link.limits.read_s) as session:
        result = await session.get_prompt(name, dict(arguments))
    parts = [entry for message in result.messages for entry in to_content(message.content)]
    return "\n\n".join(getattr(part, "text", "[not a text]") for part in parts)


async def read(link: Link, uri: str) -> list[Content]:
    """Return the texts and files of a resource."""
    async with link.session(link.limits.read_s) as session:
        result = await session.read_resource(uri)
    return [read_contents(entry) for entry in result.contents]

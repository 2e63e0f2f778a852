"""Reads the list of tools of a server, and leaves out what cannot be offered to a model."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headrace.events import JSONObject
from headrace.log import get_logger
from headrace.mcp.limits import MCPLimits
from headrace.tools.schema_arguments import (
    SchemaInvalid,
    check_object_schema,
    check_schema,
)

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

_logger = get_logger("mcp")
_MAX_NAME_CHARS: Final = 1_024
_encode = msgspec.json.Encoder(order="sorted").encode


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a server describes it."""

    name: str
    description: str
    parameters: JSONObject
    output_schema: JSONObject | None = None
    is_read_only: bool = False
    is_idempotent: bool = False
    fingerprint: str = ""
    """Hash of the name, the description and the schemas."""
    size: int = 0
    """About as many bytes as the tool takes."""


async def read_tools(
    session: ClientSession, label: str, limits: MCPLimits
) -> dict[str, ListedTool]:
    """Return the tools of a server, from all pages of its list."""
    from mcp_types import PaginatedRequestParams

    tools: dict[str, ListedTool] = {}
    size = 0
    cursor: str | None = None
    for _ in range(limits.max_pages):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for entry in page.tools:
            if entry.name in tools:
                continue
            if len(tools) == limits.max_tools:
                _warn(label, "lists too many tools")
                return tools
            # In a thread, because the calls of all servers share this loop.
            tool = await asyncio.to_thread(_read_tool, entry, label, limits)
            if tool is None:
                continue
            size += tool.size
            if size > limits.max_list_bytes:
                _warn(label, "lists tools with too much text")
                return tools
            tools[tool.name] = tool
        cursor = page.next_cursor
        if not cursor:
            return tools
    _warn(label, "lists too many pages")
    return tools


def _read_tool(entry: Any, label: str, limits: MCPLimits) -> ListedTool | None:
    schema: JSONObject = entry.input_schema
    output: JSONObject | None = entry.output_schema
    # What the model is shown, before it is cut: a change of the rest is a change too.
    description: str = entry.description or entry.title or ""
    if len(entry.name) > _MAX_NAME_CHARS:
        _warn(label, "has a tool with a name that is too long")
        return None
    try:
        identity = _encode([entry.name, description, schema, output])
        size = len(_encode([schema, output]))
        if size > limits.max_schema_bytes:
            _warn(label, "has a tool with a schema that is too large")
            return None
        check_object_schema(schema)
        if output is not None:
            check_schema(output)
    except (SchemaInvalid, UnicodeEncodeError, RecursionError):
        _warn(label, "has a tool with a schema that is not valid")
        return None
    if len(description) > limits.max_description_chars:
        description = f"{description[: limits.max_description_chars]}…"
    hints = entry.annotations
    return ListedTool(
        name=entry.name,
        description=description,
        parameters=schema,
        output_schema=output,
        is_read_only=bool(hints and hints.read_only_hint),
        is_idempotent=bool(hints and hints.idempotent_hint),
        fingerprint=hashlib.sha256(identity).hexdigest(),
        size=size + len(entry.name) + len(description),
    )


def _warn(label: str, what: str) -> None:
    fields = {"event": "mcp_tool_left_out", "server": label}
    _logger.warning("the MCP server %s %s", label, what, extra=fields)

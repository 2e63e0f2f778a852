"""Items of tools that a provider ran: as OpenAI's own, whichever provider ran them."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import events as ev
from headrace.content import Content, JSONContent, TextContent
from headrace.events import JSONObject
from headrace.status.tool_kind import ToolKind, tool_kind
from headrace.wire.json.value import as_object, as_objects, as_text

_TYPES: dict[ToolKind | None, str] = {
    "web_search": "web_search_call",
    "file_search": "file_search_call",
    "code_interpreter": "code_interpreter_call",
    "image_generation": "image_generation_call",
}
_STATUSES = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed", "failed"),
}
ARGUMENT_EVENTS = {
    "code_interpreter_call": "response.code_interpreter_call_code",
    "mcp_call": "response.mcp_call_arguments",
}
"""Types of items whose arguments are streamed, and the noun of those events."""
ARGUMENT_FIELDS = {"code_interpreter_call": "code", "mcp_call": "arguments"}
"""The field of the last of those events that has the whole arguments."""


def choose_item_type(event: ev.ToolCallStarted, is_ours: bool) -> str:
    """Return the type of the item: the provider's own if it came in this protocol."""
    told = as_text((event.provider_data or {}).get("type"))
    if is_ours and told:
        return told
    return _TYPES.get(tool_kind(event.name, event.provider_data), "mcp_call")


def has_status(item_type: str, status: str) -> bool:
    """Return whether the protocol has an event for this status of such an item."""
    return status in _STATUSES.get(item_type, ())


def start_item(item_type: str, item_id: str, name: str, label: str) -> JSONObject:
    """Return the item as it is announced."""
    item: JSONObject = {"id": item_id, "type": item_type, "status": "in_progress"}
    match item_type:
        case "web_search_call":
            return item | {"action": {"type": "search", "query": ""}}
        case "file_search_call":
            return item | {"queries": []}
        case "code_interpreter_call":
            return item | {"code": None, "container_id": "", "outputs": None}
        case "image_generation_call":
            return item | {"result": None}
        case "mcp_call":
            return item | {"arguments": "", "name": name, "server_label": label}
        case "mcp_approval_request":
            del item["status"]
            return item | {"arguments": "", "name": name, "server_label": label}
        case "custom_tool_call":
            return item | {"call_id": item_id, "name": name, "input": ""}
        case "shell_call":
            # Readers tell by the environment that the client need not run it.
            return item | {"environment": {"type": "container_reference", "container_id": ""}}
        case _:
            return item


def finish_item(
    item: JSONObject, raw: str, output: ev.ToolOutput | None, status: str
) -> JSONObject:
    """Return the finished item, from the arguments as written and the result if there is one."""
    facts = {} if output is None else as_object((output.provider_data or {}).get("item"))
    if facts.get("type") == item["type"]:
        # An image is stored as media, so it is not in the facts.
        kept = {"result": item["result"]} if item.get("result") else {}
        return facts | kept | {"id": item["id"]}
    done = item | ({"status": status} if "status" in item else {})
    arguments = _parse(raw)
    content = () if output is None else output.content
    match item["type"]:
        case "web_search_call":
            query = as_text(arguments.get("query")) or as_text(arguments.get("input")) or ""
            action = {"type": "search", "query": query, "sources": _find_sources(content)}
            return done | {"action": arguments if "type" in arguments else action}
        case "file_search_call":
            queries = arguments.get("queries", list(filter(None, [arguments.get("query")])))
            return done | {"queries": queries, "results": None}
        case "code_interpreter_call":
            code = as_text(arguments.get("code")) or raw
            logs = [{"type": "logs", "logs": to_text(content)}] if content else None
            return done | {"code": code, "outputs": logs}
        case "mcp_call":
            is_error = output is not None and output.is_error
            return done | {"arguments": raw} | encode_result(content, is_error=is_error)
        case "mcp_approval_request":
            return done | {"arguments": raw}
        case _:
            return done


def encode_result(content: tuple[Content, ...], *, is_error: bool) -> JSONObject:
    """Return the result of a tool as fields of an `mcp_call`."""
    text = to_text(content)
    if not is_error:
        return {"output": text, "error": None}
    error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
    return {"output": None, "error": error}


def to_text(content: tuple[Content, ...]) -> str:
    """Return texts and JSON values as one text. Images and files have no place in it."""
    return "\n".join(
        entry.text if isinstance(entry, TextContent) else msgspec.json.encode(entry.value).decode()
        for entry in content
        if isinstance(entry, TextContent | JSONContent)
    )


def _parse(raw: str) -> JSONObject:
    try:
        return as_object(msgspec.json.decode(raw)) if raw.strip() else {}
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}


def _find_sources(content: tuple[Content, ...]) -> list[Any]:
    """Return the pages that a search has found, if the result has their addresses."""
    values = [entry.value for entry in content if isinstance(entry, JSONContent)]
    rows = [row for value in values for row in as_objects(value) or [as_object(value)]]
    urls = [as_text(row.get("url")) for row in rows]
    return [{"type": "url", "url": url} for url in urls if url]

"""Events of the tools that the provider runs, in the Responses dialect."""

from __future__ import annotations

from typing import Any

from headrace.rehearsal.script import Approval, ProviderCall, ProviderTool

JSONObject = dict[str, Any]
Event = tuple[str, JSONObject]

_PREFIXES: dict[ProviderTool, str] = {
    "web_search": "ws",
    "code_interpreter": "ci",
    "file_search": "fs",
}


# What the item that is added does not tell yet.
_BEGUN: dict[ProviderTool, JSONObject] = {
    "web_search": {"action": {"type": "search", "query": ""}},
    "code_interpreter": {"code": "", "outputs": None},
    "file_search": {"queries": [], "results": None},
}


def provider_call_events(
    line: ProviderCall, place: str, index: int
) -> tuple[JSONObject, list[Event]]:
    """Return the finished item, and the events from its start to its end."""
    kind = f"{line.tool}_call"
    item = {"id": f"{_PREFIXES[line.tool]}_{place}", "type": kind, "status": "completed"}
    item |= _describe(line)
    at = {"item_id": item["id"], "output_index": index}
    begun = item | _BEGUN[line.tool] | {"status": "in_progress"}
    working = "interpreting" if line.tool == "code_interpreter" else "searching"
    return item, [
        ("response.output_item.added", {"output_index": index, "item": begun}),
        (f"response.{kind}.in_progress", at),
        *(_code_events(line, at) if line.tool == "code_interpreter" else ()),
        (f"response.{kind}.{working}", at),
        (f"response.{kind}.completed", at),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]


def _describe(line: ProviderCall) -> JSONObject:
    """Return what the finished item tells about the call."""
    match line.tool:
        case "web_search":
            sources = [{"type": "url", "url": url} for url in line.found]
            return {"action": {"type": "search", "query": line.asked, "sources": sources}}
        case "file_search":
            results = [
                {"file_id": f"file_{number}", "filename": f"{number}.md", "text": text}
                for number, text in enumerate(line.found, 1)
            ]
            return {"queries": [line.asked], "results": results}
        case "code_interpreter":
            logs = [{"type": "logs", "logs": "\n".join(line.found)}] if line.found else []
            return {"code": line.asked, "container_id": "cntr_1", "outputs": logs}


def _code_events(line: ProviderCall, at: JSONObject) -> list[Event]:
    code = "response.code_interpreter_call_code"
    pieces = line.asked.splitlines(keepends=True)
    return [
        *((f"{code}.delta", {**at, "delta": piece}) for piece in pieces),
        (f"{code}.done", {**at, "code": line.asked}),
    ]


def approval_events(line: Approval, place: str, index: int) -> tuple[JSONObject, list[Event]]:
    """Return the item that asks for an approval, and its events."""
    item: JSONObject = {
        "id": f"mcpr_{place}",
        "type": "mcp_approval_request",
        "server_label": line.server,
        "name": line.name,
        "arguments": line.raw,
    }
    return item, [
        ("response.output_item.added", {"output_index": index, "item": item}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]

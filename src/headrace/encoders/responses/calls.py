"""Encodes client calls and their results as items of Responses requests."""

from __future__ import annotations

from typing import Any

from headrace.content import Content, FileContent, ImageContent, JSONContent, data_url
from headrace.encoders import resend_rules as resend
from headrace.encoders.resend_rules import CallIds
from headrace.encoders.text_content import (
    check_image,
    drop_empty_texts,
    find_images,
    find_media,
    to_text,
)
from headrace.events import JSONObject
from headrace.messages import AssistantEntry, CallPart, CallResult
from headrace.wire.json.value import as_list

_FUNCTION = "function_call"
# Calls of other kinds, and where their arguments stand.
_FIELDS = {
    "custom_tool_call": "input",
    "apply_patch_call": "operation",
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "tool_search_call": "arguments",
}
# A call for a screenshot is answered with an image even if it never ran.
_BLANK = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk"
    "YAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


def choose_item_type(call: CallPart, is_ours: bool) -> str:
    """Return the item type of a call. Calls of other models, and malformed calls, become function
    calls."""
    kind = str((call.provider_data or {}).get("type", _FUNCTION))
    return kind if is_ours and kind in _FIELDS and call.error is None else _FUNCTION


def encode_call(call: CallPart, is_ours: bool, keeps_id: bool, ids: CallIds) -> JSONObject:
    """Encode the call as an item."""
    kind = choose_item_type(call, is_ours)
    facts = (call.provider_data or {}) if is_ours else {}
    item: JSONObject = dict(facts) if facts.get("type", _FUNCTION) == kind else {}
    item |= {"type": kind, "call_id": ids[call.call_id]}
    if keeps_id and call.item_id:
        item["id"] = call.item_id
    if kind == _FUNCTION:
        return item | {
            "name": resend.get_tool_name(call),
            "arguments": resend.encode_arguments(call),
        }
    if kind == "custom_tool_call":
        return item | {"name": resend.get_tool_name(call), "input": call.raw}
    item |= {"status": "completed", "id": call.item_id or call.call_id}
    return item | ({_FIELDS[kind]: resend.to_arguments_object(call)} if call.raw.strip() else {})


class ResultEncoder:
    """Encodes the results of the calls of one reply, each with the item type of its call. A program
    that made a call continues only if the result names it as the caller."""

    def __init__(self, reply: AssistantEntry | None = None, is_ours: bool = False) -> None:
        calls = () if reply is None else tuple(resend.iterate_client_calls(reply))
        self._kinds = {call.call_id: choose_item_type(call, is_ours) for call in calls}
        facts = {call.call_id: (call.provider_data or {}) if is_ours else {} for call in calls}
        self._callers = {name: told["caller"] for name, told in facts.items() if "caller" in told}

    def item(self, result: CallResult, ids: CallIds) -> JSONObject:
        """Return the item with the result of a call."""
        kind = self._kinds.get(result.call_id, _FUNCTION)
        item = _encode_answer(result, kind, ids[result.call_id])
        caller = self._callers.get(result.call_id)
        return item | ({"caller": caller} if caller is not None else {})


def _encode_answer(result: CallResult, kind: str, call_id: str) -> JSONObject:
    match kind:
        case "local_shell_call":
            # Its answer names the call as its own id, in the published types.
            status = "incomplete" if result.is_error else "completed"
            item: JSONObject = {"type": f"{kind}_output", "id": call_id, "status": status}
        case "tool_search_call":
            item = {"type": "tool_search_output", "call_id": call_id, "execution": "client"}
            return item | {"status": "completed", "tools": _find_list(result)}
        case "apply_patch_call":
            status = "failed" if result.is_error else "completed"
            item = {"type": f"{kind}_output", "call_id": call_id, "status": status}
        case _:
            item = {"type": f"{kind}_output", "call_id": call_id}
    return item | {"output": _encode_output(result, kind)}


def _encode_output(result: CallResult, kind: str) -> Any:
    match kind:
        case "shell_call":
            return _encode_shell_output(result)
        case "computer_call":
            pictures = [data_url(image) for image in find_images(result.content)]
            return {"type": "computer_screenshot", "image_url": (pictures or [_BLANK])[-1]}
        case "function_call" | "custom_tool_call" if find_media(result.content):
            return [encode_content(entry) for entry in drop_empty_texts(result.content)]
        case _:
            return to_text(result.content)


def _encode_shell_output(result: CallResult) -> list[Any]:
    """Return the list that a tool returned, or its text as the output of one command."""
    words = to_text(result.content)
    stdout, stderr = ("", words) if result.is_error else (words, "")
    outcome = {"type": "exit", "exit_code": 1 if result.is_error else 0}
    return _find_list(result) or [{"stdout": stdout, "stderr": stderr, "outcome": outcome}]


def _find_list(result: CallResult) -> list[Any]:
    lists = (as_list(entry.value) for entry in result.content if isinstance(entry, JSONContent))
    return next(filter(None, lists), as_list(None))


def encode_content(entry: Content) -> JSONObject:
    """Encode content of the user or of a tool."""
    match entry:
        case ImageContent():
            url = data_url(check_image(entry, "the Responses API"))
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case FileContent(url=str(url)):
            return {"type": "input_file", "file_url": url}
        case FileContent():
            data = data_url(entry)
            return {"type": "input_file", "filename": entry.name or "file", "file_data": data}
        case _:
            return {"type": "input_text", "text": to_text((entry,))}

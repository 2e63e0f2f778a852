"""OpenAI Responses requests. They are stateless: nothing is left with the provider, and
reasoning goes back encrypted."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import (
    CallPart,
    CallResult,
    OpaquePart,
    OutputPart,
    Part,
    Prompt,
    ReasoningPart,
    Reply,
    Results,
    TextPart,
    history,
)
from headrace.requests.replay import (
    arguments_as_object,
    arguments_as_written,
    data_url,
    grouped,
    is_own,
    text_of,
)
from headrace.requests.request import Effort, Options, Request, Tool

_EFFORT_WORDS: dict[Effort, str] = {
    "none": "none",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "max": "xhigh",
}
# Calls that are not of type `function_call`: where their arguments stand, and what the
# item with the answer is called.
_OTHER_CALLS = {
    "custom_tool_call": ("input", "custom_tool_call_output"),
    "apply_patch_call": ("operation", "apply_patch_call_output"),
    "local_shell_call": ("action", "local_shell_call_output"),
    "shell_call": ("action", "shell_call_output"),
    "computer_call": ("action", "computer_call_output"),
    "tool_search_call": ("arguments", "tool_search_output"),
}


def encode_responses(request: Request) -> JSONObject:
    """The body of `POST /responses`."""
    body: JSONObject = {
        "model": request.model,
        "input": _input(request),
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body.update(_options(request.options))
    return body


# --- options ----------------------------------------------------------------------


def _options(options: Options) -> JSONObject:
    body: JSONObject = {}
    if options.max_tokens is not None:
        body["max_output_tokens"] = options.max_tokens
    for name in ("temperature", "top_p"):
        if getattr(options, name) is not None:
            body[name] = getattr(options, name)
    for name, given in (("stop", options.stop), ("seed", options.seed)):
        if given not in ((), None):
            raise UsageError(f"Responses has no option {name!r}")
    if options.parallel_calls is not None:
        body["parallel_tool_calls"] = options.parallel_calls
    if options.tool_choice is not None:
        body["tool_choice"] = _tool_choice(options.tool_choice)
    if options.effort is not None:
        body["reasoning"] = {"effort": _EFFORT_WORDS[options.effort], "summary": "auto"}
    if options.output is not None:
        named = {"type": "json_schema", "name": options.output.name, "strict": True}
        body["text"] = {"format": named | {"schema": options.output.schema}}
    return body


def _tool_choice(choice: str) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "name": choice}


def _tool(tool: Tool) -> JSONObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.is_strict,
    }


# --- items ------------------------------------------------------------------------


def _input(request: Request) -> list[JSONObject]:
    items: list[JSONObject] = []
    kinds: dict[str, str] = {}
    for entry in history(request.messages):
        match entry:
            case Prompt():
                content = [_content(part) for part in entry.content]
                items.append({"type": "message", "role": entry.role, "content": content})
            case Reply():
                is_ours = is_own(entry, request, "responses")
                kinds.update(_kinds(entry, is_ours))
                items += _reply(entry, is_ours)
            case Results():
                items += [_result(r, kinds.get(r.call_id)) for r in entry.results]
    return items


def _content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return {"type": "input_image", "image_url": data_url(entry), "detail": "auto"}
        case FileContent(url=str(url)):
            return {"type": "input_file", "file_url": url}
        case FileContent():
            data = data_url(entry)
            return {"type": "input_file", "filename": entry.name or "file", "file_data": data}
        case _:
            return {"type": "input_text", "text": text_of((entry,))}


def _reply(reply: Reply, is_ours: bool) -> list[JSONObject]:
    """Item by item. Reasoning stands only before the item that followed it."""
    items: list[JSONObject] = []
    pending: list[JSONObject] = []
    for group in grouped(reply.parts):
        made = _item(group, is_ours)
        if made is None:
            continue
        if made["type"] == "reasoning":
            pending.append(made)
            continue
        items += [*pending, made]
        pending = []
    return items


def _item(group: list[Part], is_ours: bool) -> JSONObject | None:
    match group[0]:
        case TextPart():
            return _message(group, is_ours)
        case CallPart(executor="client") as call:
            return _call(call, is_ours)
        case _ if not is_ours:
            return None
        case ReasoningPart():
            return _thought(group)
        case OpaquePart() as odd:
            return msgspec.json.decode(odd.data, type=dict[str, Any])
        case _:
            return _provider_item(group)


def _message(group: list[Part], is_ours: bool) -> JSONObject | None:
    parts = [part for part in group if isinstance(part, TextPart) and part.text]
    if not parts:
        return None
    content: list[JSONObject] = [
        {"type": "refusal", "refusal": part.text}
        if part.is_refusal
        else {"type": "output_text", "text": part.text, "annotations": []}
        for part in parts
    ]
    message: JSONObject = {
        "type": "message",
        "role": "assistant",
        "content": content,
        "status": "completed",
        "id": parts[0].item_id or f"msg_{parts[0].part}",
    }
    return message | ({"phase": parts[0].channel} if is_ours and parts[0].channel else {})


def _thought(group: list[Part]) -> JSONObject | None:
    """A reasoning item, whole and sealed; without its seal nobody could read it again."""
    parts = [part for part in group if isinstance(part, ReasoningPart)]
    seals = [seal.value for part in parts for seal in part.seals if seal.kind == "encrypted"]
    if not seals:
        return None
    summary = [
        {"type": "summary_text", "text": part.text}
        for part in parts
        if part.kind == "summary" and part.text
    ]
    item: JSONObject = {"type": "reasoning", "summary": summary, "encrypted_content": seals[-1]}
    return item | {"id": parts[0].item_id or f"rs_{parts[0].part}"}


def _call(call: CallPart, is_ours: bool) -> JSONObject:
    facts = (call.provider_data or {}) if is_ours else {}
    kind = str(facts.get("type", "function_call"))
    item: JSONObject = {"type": kind, "call_id": call.call_id, **facts}
    if kind in _OTHER_CALLS:
        field = _OTHER_CALLS[kind][0]
        item[field] = call.raw if call.input == "text" else arguments_as_object(call)
        if kind == "custom_tool_call":
            return item | {"name": call.name}
        return item | {"status": "completed", "id": call.item_id or call.call_id}
    return item | {"name": call.name, "arguments": arguments_as_written(call)}


def _provider_item(group: list[Part]) -> JSONObject | None:
    """A call that the provider ran: the item as it was when it was done."""
    for part in group:
        if isinstance(part, OutputPart) and part.provider_data:
            item: JSONObject = dict(part.provider_data.get("item") or {})
            return item or None
    return None


def _kinds(reply: Reply, is_ours: bool) -> dict[str, str]:
    """The kinds of our calls that are no function calls, by id: their answers differ."""
    if not is_ours:
        return {}
    return {
        part.call_id: str((part.provider_data or {}).get("type", ""))
        for part in reply.parts
        if isinstance(part, CallPart) and part.executor == "client"
    }


def _result(result: CallResult, kind: str | None) -> JSONObject:
    answer = _OTHER_CALLS.get(kind or "", ("", "function_call_output"))[1]
    has_media = any(isinstance(e, ImageContent | FileContent) for e in result.content)
    output: Any = text_of(result.content)
    if has_media and answer == "function_call_output":
        output = [_content(entry) for entry in result.content]
    return {"type": answer, "call_id": result.call_id, "output": output}

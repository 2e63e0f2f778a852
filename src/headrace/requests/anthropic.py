"""Anthropic Messages requests."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent
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
    RedactedPart,
    Reply,
    Results,
    TextPart,
    history,
)
from headrace.requests.replay import arguments_as_object, grouped, is_own, text_of
from headrace.requests.request import Effort, Options, Request, Tool

DEFAULT_MAX_TOKENS = 8_192
"""The grammar wants a number; this one every current model takes."""
_BUDGETS: dict[Effort, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "max": 32_000,
}
_MIN_BUDGET = 1_024


def encode_anthropic(request: Request) -> JSONObject:
    """The body of `POST /messages`."""
    body: JSONObject = {
        "model": request.model,
        "messages": _messages(request),
        "stream": True,
    }
    system = _system(request)
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body.update(_options(request.options))
    return body


def _system(request: Request) -> str:
    """Everything that is said above the conversation, which here is one field."""
    said = [request.system or ""]
    said += [
        text_of(message.content)
        for message in request.messages
        if message.role in ("system", "developer")
    ]
    return "\n\n".join(filter(None, said))


# --- options ----------------------------------------------------------------------


def _options(options: Options) -> JSONObject:
    body: JSONObject = {"max_tokens": options.max_tokens or DEFAULT_MAX_TOKENS}
    for name in ("temperature", "top_p"):
        if getattr(options, name) is not None:
            body[name] = getattr(options, name)
    if options.stop:
        body["stop_sequences"] = list(options.stop)
    if options.seed is not None:
        raise UsageError("Anthropic has no option 'seed'")
    if options.tool_choice is not None or options.parallel_calls is not None:
        body["tool_choice"] = _tool_choice(options)
    if options.effort is not None:
        body.update(_thinking(options.effort, options.max_tokens))
    if options.output is not None:
        schema = {"type": "json_schema", "schema": options.output.schema}
        body["output_config"] = {"format": schema}
    return body


def _tool_choice(options: Options) -> JSONObject:
    match options.tool_choice:
        case None | "auto":
            choice: JSONObject = {"type": "auto"}
        case "none":
            return {"type": "none"}
        case "required":
            choice = {"type": "any"}
        case name:
            choice = {"type": "tool", "name": name}
    if options.parallel_calls is not None:
        choice["disable_parallel_tool_use"] = not options.parallel_calls
    return choice


def _thinking(effort: Effort, max_tokens: int | None) -> JSONObject:
    """The effort as a budget of thinking tokens, which must leave room for the answer."""
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    budget = _BUDGETS[effort]
    if max_tokens is None:
        room = {"max_tokens": budget + DEFAULT_MAX_TOKENS}
    elif max_tokens <= _MIN_BUDGET:
        raise UsageError(f"thinking needs max_tokens above {_MIN_BUDGET}, and this is {max_tokens}")
    else:
        budget, room = max(_MIN_BUDGET, min(budget, max_tokens // 2)), {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}, **room}


def _tool(tool: Tool) -> JSONObject:
    made: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }
    return made | ({"strict": True} if tool.is_strict else {})


# --- messages ---------------------------------------------------------------------


def _messages(request: Request) -> list[JSONObject]:
    messages: list[JSONObject] = []
    for entry in history(request.messages):
        match entry:
            case Prompt(role="system" | "developer"):
                continue
            case Prompt():
                role, content = "user", [_content(part) for part in entry.content]
            case Reply():
                role, content = "assistant", _reply(entry, request)
            case Results():
                role, content = "user", [_result(result) for result in entry.results]
        _say(messages, role, content)
    return messages


def _say(messages: list[JSONObject], role: str, content: list[JSONObject]) -> None:
    """Roles take turns: what the same side says next belongs to its message."""
    if not content:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += content
    else:
        messages.append({"role": role, "content": content})


def _content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return {"type": "image", "source": _source(entry)}
        case FileContent():
            document: JSONObject = {"type": "document", "source": _source(entry)}
            return document | ({"title": entry.name} if entry.name else {})
        case _:
            return {"type": "text", "text": text_of((entry,))}


def _source(entry: ImageContent | FileContent) -> JSONObject:
    if entry.url is not None:
        return {"type": "url", "url": entry.url}
    return {"type": "base64", "media_type": entry.media_type, "data": entry.data or ""}


def _reply(reply: Reply, request: Request) -> list[JSONObject]:
    """Block by block, exactly where each stood; another's seals and tools are left out."""
    is_ours = is_own(reply, request, "anthropic")
    blocks: list[JSONObject] = []
    for item in grouped(reply.parts):
        block = _block(item, is_ours)
        if block is not None:
            blocks.append(block)
    return blocks


def _block(item: list[Part], is_ours: bool) -> JSONObject | None:
    match item[0]:
        case TextPart():
            return _text(item, is_ours)
        case CallPart(executor="client") as call:
            return _call(call, is_ours)
        case _ if not is_ours:
            return None
        case ReasoningPart():
            return _thought(item)
        case RedactedPart() as sealed:
            return {"type": "redacted_thinking", "data": sealed.data}
        case CallPart() as call:
            return _call(call, is_ours)
        case OutputPart() as output:
            return _output(output)
        case OpaquePart() as odd:
            return msgspec.json.decode(odd.data, type=dict[str, Any])
        case _:
            return None


def _text(item: list[Part], is_ours: bool) -> JSONObject | None:
    parts = [part for part in item if isinstance(part, TextPart)]
    text = "".join(part.text for part in parts)
    if not text.strip():
        return None
    block: JSONObject = {"type": "text", "text": text}
    citations = [citation.raw for part in parts for citation in part.citations if citation.raw]
    return block | ({"citations": citations} if citations and is_ours else {})


def _thought(item: list[Part]) -> JSONObject | None:
    parts = [part for part in item if isinstance(part, ReasoningPart)]
    signature = next((part.signature for part in reversed(parts) if part.signature), None)
    if signature is None:
        return None
    words = "".join(part.text for part in parts)
    return {"type": "thinking", "thinking": words, "signature": signature}


def _call(call: CallPart, is_ours: bool) -> JSONObject:
    block: JSONObject = {
        "type": "tool_use",
        "id": call.call_id,
        "name": call.name,
        "input": arguments_as_object(call),
    }
    return block | ((call.provider_data or {}) if is_ours else {})


def _output(output: OutputPart) -> JSONObject:
    values: list[Any] = [e.value for e in output.content if isinstance(e, JSONContent)]
    block: JSONObject = {"tool_use_id": output.call_id, "content": values[0] if values else ""}
    facts = output.provider_data or {}
    if facts.get("type") == "mcp_tool_result":
        block["is_error"] = output.is_error
    return facts | block


def _result(result: CallResult) -> JSONObject:
    content = [_content(entry) for entry in result.content]
    block: JSONObject = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return block | ({"is_error": True} if result.is_error else {})

"""Anthropic Messages requests."""

from __future__ import annotations

from typing import Any

from headrace.content import Content, FileContent, ImageContent, JSONContent
from headrace.encoders.anthropic.options import anthropic_options
from headrace.encoders.request import Request, ToolSpec
from headrace.encoders.resend_rules import (
    CallIds,
    arguments_as_object,
    as_it_was,
    grouped,
    is_own,
    name_of,
)
from headrace.encoders.text_content import file_text, spoken, text_of
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import (
    AssistantEntry,
    CallPart,
    CallResult,
    OpaquePart,
    OutputPart,
    Part,
    PromptEntry,
    ReasoningPart,
    RedactedPart,
    TextPart,
    ToolResultsEntry,
    history,
)

_CALL_ID = r"[A-Za-z0-9_-]{1,64}"
_REASONING = ("thinking", "redacted_thinking")


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
    return body | anthropic_options(request)


def _system(request: Request) -> str:
    """Everything that is said above the conversation, which here is one field."""
    said = [request.instructions or ""]
    said += [text_of(m.content) for m in request.messages if m.role in ("system", "developer")]
    return "\n\n".join(text for text in said if text.strip())


def _tool(tool: ToolSpec) -> JSONObject:
    made: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }
    return made | ({"strict": True} if tool.is_strict else {})


# --- messages ---------------------------------------------------------------------


def _messages(request: Request) -> list[JSONObject]:
    messages: list[JSONObject] = []
    ids = CallIds(_CALL_ID)
    for entry in history(request.messages):
        match entry:
            case PromptEntry(role="system" | "developer"):
                continue
            case PromptEntry():
                _say(messages, "user", [_content(part) for part in spoken(entry.content)])
            case AssistantEntry():
                is_ours = is_own(entry, request, "anthropic")
                ids.begin(entry, is_ours)
                _say(messages, "assistant", _reply(entry, is_ours, ids))
            case ToolResultsEntry():
                _say(messages, "user", [_result(result, ids) for result in entry.results])
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
            document: JSONObject = {"type": "document", "source": _document(entry)}
            return document | ({"title": entry.name} if entry.name else {})
        case _:
            return {"type": "text", "text": text_of((entry,))}


def _source(entry: ImageContent | FileContent) -> JSONObject:
    if entry.url is not None:
        return {"type": "url", "url": entry.url}
    return {"type": "base64", "media_type": entry.media_type, "data": entry.data or ""}


def _document(file: FileContent) -> JSONObject:
    """Text goes as text; what is neither that nor a PDF cannot be read there."""
    words = file_text(file)
    if words is not None:
        return {"type": "text", "media_type": "text/plain", "data": words}
    if file.url is None and file.media_type != "application/pdf":
        raise UsageError(f"Anthropic reads text and PDF files, and this is {file.media_type}")
    return _source(file)


# --- what the model said ----------------------------------------------------------


def _reply(reply: AssistantEntry, is_ours: bool, ids: CallIds) -> list[Any]:
    """Block by block, exactly where each stood; another's seals and tools are left out,
    and so is reasoning that nothing follows."""
    made = [_block(item, is_ours, ids) for item in grouped(reply.parts)]
    blocks = [block for block in made if block is not None]
    while blocks and isinstance(blocks[-1], dict) and blocks[-1]["type"] in _REASONING:
        blocks.pop()
    return blocks


def _block(item: list[Part], is_ours: bool, ids: CallIds) -> Any:
    match item[0]:
        case TextPart():
            return _text(item, is_ours)
        case CallPart(executor="client") as call:
            return _call(call, is_ours, ids)
        case _ if not is_ours:
            return None
        case ReasoningPart():
            return _thought(item)
        case RedactedPart() as sealed:
            return {"type": "redacted_thinking", "data": sealed.data}
        case CallPart() as call:
            return _call(call, is_ours, ids)
        case OutputPart() as output:
            return _output(output)
        case OpaquePart() as odd:
            return as_it_was(odd)
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


def _call(call: CallPart, is_ours: bool, ids: CallIds) -> JSONObject:
    block: JSONObject = {
        "type": "tool_use",
        "id": ids[call.call_id],
        "name": name_of(call),
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


def _result(result: CallResult, ids: CallIds) -> JSONObject:
    block: JSONObject = {"type": "tool_result", "tool_use_id": ids[result.call_id]}
    content = [_content(entry) for entry in spoken(result.content)]
    if content:
        block["content"] = content
    return block | ({"is_error": True} if result.is_error else {})

"""Encodes Anthropic Messages requests."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import CacheBreak, Content, FileContent, ImageContent, JSONContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.anthropic.options import encode_options
from headrace.encoders.anthropic.provider_tool import encode_context_edits, encode_provider_tools
from headrace.encoders.cache_point import CacheSetting, encode_break, place_points
from headrace.encoders.history_encoder import HistoryEncoder, collect_instructions, merge_roles
from headrace.encoders.request import Request, ToolSpec
from headrace.encoders.text_content import check_image, decode_text_file, drop_empty_texts, to_text
from headrace.errors import UsageError
from headrace.events import JSONObject

_CALL_ID = r"[A-Za-z0-9_-]{1,64}"
_REASONING = ("thinking", "redacted_thinking")


def encode_anthropic(request: Request) -> JSONObject:
    """Encode the body of `POST /messages`."""
    body: JSONObject = {
        "model": request.model,
        "messages": merge_roles(_MessageEncoder(request, _CALL_ID).encode(), "content"),
        "stream": True,
    }
    if instructions := collect_instructions(request):
        body["system"] = "\n\n".join(instructions)
    provided = encode_provider_tools(request)
    if tools := [*map(_encode_tool, request.tools), *provided.pop("tools", ())]:
        body["tools"] = tools
    body |= provided | encode_context_edits(request)
    _place_cache_points(body, request.options.cache)
    return body | encode_options(request)


def _place_cache_points(body: JSONObject, cache: CacheSetting | None) -> None:
    fixed: list[JSONObject] = list(body.get("tools", ())[-1:])
    if cache and "system" in body:
        body["system"] = [{"type": "text", "text": body["system"]}]
        fixed += body["system"]
    place_points(body["messages"], fixed, cache)


def _encode_tool(tool: ToolSpec) -> JSONObject:
    made: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }
    return made | ({"strict": True} if tool.is_strict else {})


class _MessageEncoder(HistoryEncoder):
    dialect = "anthropic"

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        if prompt.role != "user":
            return []
        content = [
            encode_break(entry) if isinstance(entry, CacheBreak) else _encode_content(entry)
            for entry in prompt.content
            if isinstance(entry, CacheBreak) or drop_empty_texts((entry,))
        ]
        return [{"role": "user", "content": content}]

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        """Encode block by block, in the original order. Seals and tools of other models are left
        out, and so is trailing reasoning."""
        items = map(self._encode_block, resend.group_by_item(reply.parts))
        blocks = [block for block in items if block is not None]
        while blocks and isinstance(blocks[-1], dict) and blocks[-1]["type"] in _REASONING:
            blocks.pop()
        return [{"role": "assistant", "content": blocks}]

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        return [{"role": "user", "content": [self._encode_result(result) for result in results]}]

    def _encode_block(self, item: list[msg.Part]) -> Any:
        match item[0]:
            case msg.TextPart():
                return _encode_text(item, self.is_ours)
            case msg.CallPart(executor="client") as call:
                return self._encode_call(call)
            case _ if not self.is_ours:
                return None
            case msg.ReasoningPart():
                return _encode_reasoning(item)
            case msg.RedactedPart() as sealed:
                return {"type": "redacted_thinking", "data": sealed.data}
            case msg.CallPart() as call:
                return self._encode_call(call)
            case msg.OutputPart() as output:
                return _encode_output(output)
            case msg.OpaquePart() as odd:
                return resend.to_raw_json(odd)
            case _:
                return None

    def _encode_call(self, call: msg.CallPart) -> JSONObject:
        block: JSONObject = {
            "type": "tool_use",
            "id": self.ids[call.call_id],
            "name": resend.get_tool_name(call),
            "input": resend.to_arguments_object(call),
        }
        return block | ((call.provider_data or {}) if self.is_ours else {})

    def _encode_result(self, result: msg.CallResult) -> JSONObject:
        block: JSONObject = {"type": "tool_result", "tool_use_id": self.ids[result.call_id]}
        content = [_encode_content(entry) for entry in drop_empty_texts(result.content)]
        if content:
            block["content"] = content
        return block | ({"is_error": True} if result.is_error else {})


def _encode_content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return {"type": "image", "source": _encode_source(check_image(entry, "Anthropic"))}
        case FileContent():
            document: JSONObject = {"type": "document", "source": _encode_document(entry)}
            return document | ({"title": entry.name} if entry.name else {})
        case _:
            return {"type": "text", "text": to_text((entry,))}


def _encode_source(entry: ImageContent | FileContent) -> JSONObject:
    if entry.url is not None:
        return {"type": "url", "url": entry.url}
    return {"type": "base64", "media_type": entry.media_type, "data": entry.data or ""}


def _encode_document(file: FileContent) -> JSONObject:
    """Encode a file: text as text, or a PDF. Raises `UsageError` for any other type."""
    words = decode_text_file(file)
    if words is not None:
        return {"type": "text", "media_type": "text/plain", "data": words}
    if file.url is None and file.media_type != "application/pdf":
        raise UsageError(f"Anthropic reads text and PDF files, and this is {file.media_type}")
    return _encode_source(file)


def _encode_text(item: list[msg.Part], is_ours: bool) -> JSONObject | None:
    parts = [part for part in item if isinstance(part, msg.TextPart)]
    text = "".join(part.text for part in parts)
    if not text.strip():
        return None
    block: JSONObject = {"type": "text", "text": text}
    citations = [citation.raw for part in parts for citation in part.citations if citation.raw]
    return block | ({"citations": citations} if citations and is_ours else {})


def _encode_reasoning(item: list[msg.Part]) -> JSONObject | None:
    parts = [part for part in item if isinstance(part, msg.ReasoningPart)]
    signature = next((part.signature for part in reversed(parts) if part.signature), None)
    if signature is None:
        return None
    words = "".join(part.text for part in parts)
    return {"type": "thinking", "thinking": words, "signature": signature}


def _encode_output(output: msg.OutputPart) -> JSONObject:
    values: list[Any] = [e.value for e in output.content if isinstance(e, JSONContent)]
    block: JSONObject = {"tool_use_id": output.call_id, "content": values[0] if values else ""}
    facts = output.provider_data or {}
    if facts.get("type") == "mcp_tool_result":
        block["is_error"] = output.is_error
    return facts | block

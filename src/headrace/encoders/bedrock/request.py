"""Encodes Converse requests."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import CacheBreak, Content, FileContent, ImageContent, JSONContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.bedrock.caching import encode_point, place_cache_points
from headrace.encoders.bedrock.media import FileEncoder, encode_image
from headrace.encoders.bedrock.options import encode_options
from headrace.encoders.history_encoder import HistoryEncoder, collect_instructions, merge_roles
from headrace.encoders.request import Request, ToolSpec
from headrace.encoders.text_content import drop_empty_texts, to_text
from headrace.events import JSONObject
from headrace.wire.json.value import as_object, as_text

_CALL_ID = r"[A-Za-z0-9_-]{1,64}"


def encode_bedrock(request: Request) -> JSONObject:
    """Encode the body of `POST /model/…/converse-stream`; the model is in the address."""
    messages = merge_roles(_MessageEncoder(request, _CALL_ID).encode(), "content")
    body: JSONObject = {"messages": messages}
    if instructions := collect_instructions(request):
        body["system"] = [{"text": text} for text in instructions]
    if config := _encode_tool_config(request, messages):
        body["toolConfig"] = config
    place_cache_points(body, request.options.cache, request.model)
    return body | encode_options(request)


# -- tools


def _encode_tool_config(request: Request, messages: list[JSONObject]) -> JSONObject | None:
    """Encode the tools. Converse has no choice `none`, so they are left out then. A conversation
    with calls in it is refused without tools, so those that were called are listed."""
    choice = request.tool_choice
    tools = [_encode_tool(tool) for tool in request.tools]
    if not tools or choice == "none":
        called = _find_called_tools(messages)
        listed = [tool for tool in tools if tool["toolSpec"]["name"] in called]
        known = [tool["toolSpec"]["name"] for tool in listed]
        missing = [ToolSpec(name=name) for name in called if name not in known]
        tools = listed + [_encode_tool(tool) for tool in missing]
        return {"tools": tools} if tools else None
    config: JSONObject = {"tools": tools}
    match choice:
        case None:
            pass
        case "auto":
            config["toolChoice"] = {"auto": {}}
        case "required":
            config["toolChoice"] = {"any": {}}
        case name:
            config["toolChoice"] = {"tool": {"name": name}}
    return config


def _encode_tool(tool: ToolSpec) -> JSONObject:
    spec: JSONObject = {"name": tool.name, "inputSchema": {"json": tool.parameters}}
    if tool.description:
        spec["description"] = tool.description
    return {"toolSpec": spec | ({"strict": True} if tool.is_strict else {})}


def _find_called_tools(messages: list[JSONObject]) -> list[str]:
    uses = [as_object(block.get("toolUse")) for m in messages for block in m["content"]]
    return list(dict.fromkeys(use["name"] for use in uses if use and "type" not in use))


# -- messages


class _MessageEncoder(HistoryEncoder):
    dialect = "bedrock"

    def __init__(self, request: Request, call_id_pattern: str) -> None:
        super().__init__(request, call_id_pattern)
        self._files = FileEncoder()

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        if prompt.role != "user":
            return []
        content: list[JSONObject] = []
        for entry in prompt.content:
            if isinstance(entry, CacheBreak):
                # A point with nothing before it is refused.
                content += [encode_point(entry.ttl)] if content else []
            else:
                content += map(self._encode_content, drop_empty_texts((entry,)))
        return [{"role": "user", "content": content}]

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        """Encode block by block, in the original order. Seals and tools of other models are left
        out, and so is trailing reasoning."""
        items = map(self._encode_block, resend.group_by_item(reply.parts))
        blocks = [block for block in items if block is not None]
        while blocks and "reasoningContent" in blocks[-1]:
            blocks.pop()
        return [{"role": "assistant", "content": blocks}]

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        blocks = [
            self._encode_result(self.ids[result.call_id], result.content, result.is_error)
            for result in results
        ]
        return [{"role": "user", "content": blocks}]

    def _encode_block(self, item: list[msg.Part]) -> JSONObject | None:
        match item[0]:
            case msg.TextPart():
                text = "".join(part.text for part in item if isinstance(part, msg.TextPart))
                return {"text": text} if text.strip() else None
            case msg.CallPart(executor="client") as call:
                return self._encode_call(call)
            case _ if not self.is_ours:
                return None
            case msg.ReasoningPart():
                return _encode_reasoning(item)
            case msg.RedactedPart() as sealed:
                return {"reasoningContent": {"redactedContent": sealed.data}}
            case msg.CallPart() as call:
                return self._encode_call(call)
            case msg.OutputPart() as output:
                kind = as_text((output.provider_data or {}).get("type"))
                call_id = self.ids[output.call_id]
                return self._encode_result(call_id, output.content, output.is_error, kind)
            case _:
                return None

    def _encode_call(self, call: msg.CallPart) -> JSONObject:
        use: JSONObject = {
            "toolUseId": self.ids[call.call_id],
            "name": resend.get_tool_name(call),
            "input": resend.to_arguments_object(call),
        }
        return {"toolUse": use | ({"type": "server_tool_use"} if call.executor != "client" else {})}

    def _encode_result(
        self, call_id: str, content: tuple[Content, ...], is_error: bool, kind: str | None = None
    ) -> JSONObject:
        blocks = [self._encode_result_content(entry) for entry in drop_empty_texts(content)]
        result: JSONObject = {"toolUseId": call_id, "content": blocks}
        if is_error:
            result["status"] = "error"
        return {"toolResult": result | ({"type": kind} if kind else {})}

    def _encode_result_content(self, entry: Content) -> JSONObject:
        """Encode content of a result. JSON must be an object there, and sound is not possible."""
        value = as_object(entry.value) if isinstance(entry, JSONContent) else {}
        if value:
            return {"json": value}
        block = self._encode_content(entry)
        return {"text": to_text((entry,))} if "audio" in block else block

    def _encode_content(self, entry: Content) -> JSONObject:
        match entry:
            case ImageContent():
                return encode_image(entry)
            case FileContent():
                return self._files.encode(entry)
            case _:
                return {"text": to_text((entry,))}


def _encode_reasoning(item: list[msg.Part]) -> JSONObject | None:
    parts = [part for part in item if isinstance(part, msg.ReasoningPart)]
    signature = next((part.signature for part in reversed(parts) if part.signature), None)
    if signature is None:
        return None
    reasoning: dict[str, Any] = {"text": "".join(part.text for part in parts)}
    return {"reasoningContent": {"reasoningText": reasoning | {"signature": signature}}}

"""Encodes requests of xAI's own API: `GetCompletionsRequest`, in the JSON of its protocol buffers.

Requests are stateless: nothing is stored at the provider, and reasoning is sent back encrypted.
"""

from __future__ import annotations

import msgspec

from headrace import messages as msg
from headrace.content import Content, FileContent, ImageContent, data_url
from headrace.encoders import resend_rules as resend
from headrace.encoders.history_encoder import HistoryEncoder
from headrace.encoders.option_table import OptionTable
from headrace.encoders.provider_tool import (
    CodeInterpreter,
    Encoders,
    FileSearch,
    MCPServer,
    WebSearch,
    XSearch,
    encode_provider_tool,
    named_fields,
    refuse_settings,
)
from headrace.encoders.request import (
    Effort,
    Options,
    Request,
    ToolSpec,
    encode_logprobs,
    encode_tool_fields,
)
from headrace.encoders.text_content import (
    decode_text_file,
    drop_empty_texts,
    encode_json,
    find_images,
    to_text,
)
from headrace.events import JSONObject

_CLIENT_SIDE = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
# `minimal` and `max` map to the nearest words.
_EFFORTS: dict[Effort, str] = {
    "none": "EFFORT_NONE",
    "minimal": "EFFORT_LOW",
    "low": "EFFORT_LOW",
    "medium": "EFFORT_MEDIUM",
    "high": "EFFORT_HIGH",
    "xhigh": "EFFORT_XHIGH",
    "max": "EFFORT_XHIGH",
}
_OPTIONS = OptionTable(
    provider="xAI",
    fields={
        name: name
        for name in (
            "max_tokens",
            "temperature",
            "top_p",
            "stop",
            "seed",
            "frequency_penalty",
            "presence_penalty",
            "user",
        )
    },
    encoded=("effort", "logprobs", "output", "parallel_calls", "top_logprobs"),
)
_MODES = {"auto": "TOOL_MODE_AUTO", "none": "TOOL_MODE_NONE", "required": "TOOL_MODE_REQUIRED"}
_STATUSES = {
    "completed": "TOOL_CALL_STATUS_COMPLETED",
    "incomplete": "TOOL_CALL_STATUS_INCOMPLETE",
    "failed": "TOOL_CALL_STATUS_FAILED",
}


def encode_xai(request: Request) -> JSONObject:
    """Encode the message of `xai_api.Chat/GetCompletionChunk`. The number of candidates is left to
    the provider: one."""
    body: JSONObject = {
        "model": request.model,
        "messages": _MessageEncoder(request).encode(),
        "use_encrypted_content": True,
    }
    provided = [
        encode_provider_tool(tool, _PROVIDER_TOOLS, "xAI") for tool in request.provider_tools
    ]
    body |= encode_tool_fields(request, _encode_tool, _encode_tool_choice, provided)
    return body | _encode_options(request.options)


def _encode_options(options: Options) -> JSONObject:
    body = _OPTIONS.collect(options)
    body |= encode_logprobs(options)
    if options.effort is not None:
        body["reasoning_effort"] = _EFFORTS[options.effort]
    if options.output is not None:
        schema = encode_json(options.output.schema)
        body["response_format"] = {"format_type": "FORMAT_TYPE_JSON_SCHEMA", "schema": schema}
    return body


def _encode_tool_choice(choice: str) -> JSONObject:
    return {"mode": _MODES[choice]} if choice in _MODES else {"function_name": choice}


def _encode_tool(tool: ToolSpec) -> JSONObject:
    function: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": encode_json(tool.parameters),
    }
    return {"function": function | ({"strict": True} if tool.is_strict else {})}


def _encode_web_search(tool: WebSearch) -> JSONObject:
    refuse_settings(tool, "xAI", "max_uses", "context_size")
    location = None if tool.location is None else msgspec.to_builtins(tool.location)
    fields = named_fields(
        allowed_domains=tool.allowed_domains,
        excluded_domains=tool.blocked_domains,
        user_location=location,
    )
    return {"web_search": fields}


def _encode_x_search(tool: XSearch) -> JSONObject:
    # Protocol buffers write a day as a moment.
    first, last = (day and f"{day}T00:00:00Z" for day in (tool.from_date, tool.to_date))
    fields = named_fields(
        allowed_x_handles=tool.allowed_handles,
        excluded_x_handles=tool.excluded_handles,
        from_date=first,
        to_date=last,
    )
    return {"x_search": fields}


def _encode_code(tool: CodeInterpreter) -> JSONObject:
    refuse_settings(tool, "xAI", "files")
    return {"code_execution": {}}


def _encode_collections(tool: FileSearch) -> JSONObject:
    return {"collections_search": named_fields(collection_ids=tool.stores, limit=tool.max_results)}


def _encode_mcp(tool: MCPServer) -> JSONObject:
    refuse_settings(tool, "xAI", "needs_approval")
    fields = named_fields(
        server_label=tool.name,
        server_url=tool.url,
        allowed_tool_names=tool.allowed_tools,
        authorization=tool.authorization,
    )
    return {"mcp": fields}


_PROVIDER_TOOLS: Encoders = {
    WebSearch: _encode_web_search,
    XSearch: _encode_x_search,
    CodeInterpreter: _encode_code,
    FileSearch: _encode_collections,
    MCPServer: _encode_mcp,
}


class _MessageEncoder(HistoryEncoder):
    """Encodes each output of a reply as a message of its own: a step of the model with its calls,
    then the results of the provider's own tools, as xAI's own client does."""

    dialect = "xai"
    has_system_messages = True

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._calls: dict[str, msg.CallPart] = {}

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        content = [_encode_content(entry) for entry in drop_empty_texts(prompt.content)]
        role = "ROLE_USER" if prompt.role == "user" else "ROLE_SYSTEM"
        return [{"role": role, "content": content}] if content else []

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        self._calls = {p.call_id: p for p in reply.parts if isinstance(p, msg.CallPart)}
        outputs: dict[int, list[msg.Part]] = {}
        for part in reply.parts:
            outputs.setdefault(part.output, []).append(part)
        messages: list[JSONObject] = []
        for parts in outputs.values():
            messages += self._encode_step(parts)
            if self.is_ours:
                messages += self._encode_provider_results(parts)
        return messages

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        """Encode results. Images follow in a user message, because a tool message takes only
        text."""
        messages = [
            _encode_answer(self.ids[result.call_id], to_text(result.content) or "(no output)")
            for result in results
        ]
        images = [image for result in results for image in find_images(result.content)]
        if images:
            content = [_encode_content(image) for image in images]
            messages.append({"role": "ROLE_USER", "content": content})
        return messages

    def _encode_step(self, parts: list[msg.Part]) -> list[JSONObject]:
        text = "".join(part.text for part in parts if isinstance(part, msg.TextPart))
        calls = [
            self._encode_call(part)
            for part in parts
            if isinstance(part, msg.CallPart) and (part.executor == "client" or self.is_ours)
        ]
        sealed = _join_encrypted(parts) if self.is_ours else None
        if not (text or calls or sealed):
            return []
        message: JSONObject = {"role": "ROLE_ASSISTANT", "content": [{"text": text}]}
        thoughts = [part.text for part in parts if isinstance(part, msg.ReasoningPart)]
        if self.is_ours and any(thoughts):
            message["reasoning_content"] = "".join(thoughts)
        if calls:
            message["tool_calls"] = calls
        return [message | ({"encrypted_content": sealed} if sealed else {})]

    def _encode_call(self, part: msg.CallPart, status: str | None = None) -> JSONObject:
        name, arguments = resend.get_tool_name(part), resend.encode_arguments(part)
        call: JSONObject = {
            "id": self.ids[part.call_id],
            "type": _encode_type(part),
            "function": {"name": name, "arguments": arguments},
        }
        return call | ({"status": status} if status else {})

    def _encode_provider_results(self, parts: list[msg.Part]) -> list[JSONObject]:
        """Encode the results of the provider's tools: one message per item, which may answer
        several calls. A result whose call was cut off is dropped."""
        items: dict[int, list[msg.OutputPart]] = {}
        for part in parts:
            if isinstance(part, msg.OutputPart) and part.call_id in self._calls:
                items.setdefault(part.item, []).append(part)
        return [self._encode_provider_result(outputs) for outputs in items.values()]

    def _encode_provider_result(self, outputs: list[msg.OutputPart]) -> JSONObject:
        message = _encode_answer(self.ids[outputs[0].call_id], to_text(outputs[0].content))
        calls = [self._calls[output.call_id] for output in outputs]
        message["tool_calls"] = [self._encode_call(call, _find_status(call)) for call in calls]
        sealed = (outputs[0].provider_data or {}).get("encrypted_content")
        return message | ({"encrypted_content": sealed} if sealed else {})


def _encode_content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return {"image_url": {"image_url": data_url(entry)}}
        case FileContent() if decode_text_file(entry) is None:
            where = {"url": entry.url} if entry.url else {"data": entry.data or ""}
            named = {"filename": entry.name} if entry.name else {}
            return {"file": {**where, **named, "mime_type": entry.media_type}}
        case _:
            return {"text": to_text((entry,))}


def _encode_answer(call_id: str, text: str) -> JSONObject:
    return {"role": "ROLE_TOOL", "tool_call_id": call_id, "content": [{"text": text}]}


def _encode_type(call: msg.CallPart) -> str | int:
    """Return the word of the enum; an unknown tool has only its number."""
    if call.executor == "client":
        return _CLIENT_SIDE
    told = str((call.provider_data or {}).get("type", ""))
    return int(told) if told.isdecimal() else f"TOOL_CALL_TYPE_{told.upper()}_TOOL"


def _find_status(call: msg.CallPart) -> str | None:
    told = [_STATUSES[a.status] for a in call.activities if a.status in _STATUSES]
    return told[-1] if told else None


def _join_encrypted(parts: list[msg.Part]) -> str | None:
    """Join the encrypted content of an output. The rest of it may have come after the finish, on
    another part."""
    found = [part.data for part in parts if isinstance(part, msg.RedactedPart)]
    for part in parts:
        found += [seal.value for seal in part.seals if seal.kind == "encrypted"]
    return "".join(found) or None

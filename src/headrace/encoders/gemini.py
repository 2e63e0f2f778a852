"""Encodes Gemini requests."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import Content, FileContent, ImageContent, JSONContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.history_encoder import HistoryEncoder, collect_instructions, merge_roles
from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.option_table import OptionTable
from headrace.encoders.provider_tool import (
    CodeInterpreter,
    Encoders,
    FileSearch,
    MCPServer,
    WebFetch,
    WebSearch,
    encode_provider_tool,
    named_fields,
    refuse_settings,
)
from headrace.encoders.request import (
    Effort,
    Options,
    Request,
    ToolSpec,
)
from headrace.encoders.text_content import drop_empty_texts, find_media, to_text
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.wire.json.value import as_object

# Since Gemini 3 thinking has levels, and cannot be turned off; before, it has a budget. A
# request with both is refused. https://ai.google.dev/gemini-api/docs/thinking
_LEVELS: dict[Effort, str] = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}
_BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 1_024,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 24_576,
}
_OPTIONS = OptionTable(
    provider="Gemini",
    fields={
        "max_tokens": "maxOutputTokens",
        "temperature": "temperature",
        "top_p": "topP",
        "top_k": "topK",
        "seed": "seed",
        "stop": "stopSequences",
        "frequency_penalty": "frequencyPenalty",
        "presence_penalty": "presencePenalty",
    },
    encoded=("effort", "modalities", "output"),
)
_LEVELS_SINCE = (3, 0)
# Since Gemini 3 a first call without its signature is refused; for calls that another
# model made, Google names this word. https://ai.google.dev/gemini-api/docs/thought-signatures
NO_SIGNATURE = "skip_thought_signature_validator"


def encode_gemini(request: Request) -> JSONObject:
    """Encode the body of `POST /models/…:streamGenerateContent`; the model is in the address."""
    body: JSONObject = {"contents": merge_roles(_ContentEncoder(request).encode(), "parts")}
    if instructions := collect_instructions(request):
        body["systemInstruction"] = {"parts": [{"text": text} for text in instructions]}
    if tools := _encode_tools(request):
        body["tools"] = tools
    if tool_config := _encode_tool_config(request):
        body["toolConfig"] = tool_config
    config = _encode_generation_config(request.options, request.model)
    return body | ({"generationConfig": config} if config else {})


def _encode_tools(request: Request) -> list[JSONObject]:
    provided = [
        encode_provider_tool(tool, _PROVIDER_TOOLS, "Gemini") for tool in request.provider_tools
    ]
    if provided and request.tools and not is_generation_at_least(request.model, _LEVELS_SINCE):
        name = type(request.provider_tools[0]).__name__
        raise UsageError(f"Gemini before 3 takes {name} or tools of your own, not both")
    functions = [_encode_tool(tool) for tool in request.tools]
    return ([{"functionDeclarations": functions}] if functions else []) + provided


def _encode_tool_config(request: Request) -> JSONObject:
    config: JSONObject = {}
    if request.tool_choice is not None:
        config["functionCallingConfig"] = _encode_tool_choice(request.tool_choice)
    if request.tools and request.provider_tools:
        # Without it, calls of the provider's tools are missing in the stream and in the history.
        config["includeServerSideToolInvocations"] = True
    return config


def _encode_search(tool: WebSearch) -> JSONObject:
    refuse_settings(tool, "Gemini", "allowed_domains", "max_uses", "location", "context_size")
    return {"googleSearch": named_fields(excludeDomains=tool.blocked_domains)}


def _encode_fetch(tool: WebFetch) -> JSONObject:
    refuse_settings(tool, "Gemini", "allowed_domains", "blocked_domains", "max_uses")
    return {"urlContext": {}}


def _encode_code(tool: CodeInterpreter) -> JSONObject:
    refuse_settings(tool, "Gemini", "files")
    return {"codeExecution": {}}


def _encode_files(tool: FileSearch) -> JSONObject:
    return {"fileSearch": named_fields(fileSearchStoreNames=tool.stores, topK=tool.max_results)}


def _encode_mcp(tool: MCPServer) -> JSONObject:
    refuse_settings(tool, "Gemini", "allowed_tools", "needs_approval")
    transport: JSONObject = {"url": tool.url}
    if tool.authorization is not None:
        transport["headers"] = {"Authorization": f"Bearer {tool.authorization}"}
    return {"mcpServers": [{"name": tool.name, "streamableHttpTransport": transport}]}


_PROVIDER_TOOLS: Encoders = {
    WebSearch: _encode_search,
    WebFetch: _encode_fetch,
    CodeInterpreter: _encode_code,
    FileSearch: _encode_files,
    MCPServer: _encode_mcp,
}


def _encode_generation_config(options: Options, model: str) -> JSONObject:
    config = _OPTIONS.collect(options)
    if options.modalities:
        config["responseModalities"] = [name.upper() for name in options.modalities]
    if options.effort is not None:
        config["thinkingConfig"] = _encode_thinking(options.effort, model)
    if options.output is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = options.output.schema
    return config


def _encode_thinking(effort: Effort, model: str) -> JSONObject:
    shown = {"includeThoughts": effort != "none"}
    if is_generation_at_least(model, _LEVELS_SINCE):
        return {"thinkingLevel": _LEVELS[effort]} | shown
    return {"thinkingBudget": _BUDGETS[effort]} | shown


def _encode_tool_choice(choice: str) -> JSONObject:
    modes = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
    if choice in modes:
        return {"mode": modes[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _encode_tool(tool: ToolSpec) -> JSONObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    }


class _ContentEncoder(HistoryEncoder):
    dialect = "gemini"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._calls: dict[str, JSONObject] = {}
        is_gemini = parse_family(request.model) == "gemini"
        self._signs = is_gemini and is_generation_at_least(request.model, _LEVELS_SINCE)

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        if prompt.role != "user":
            return []
        parts = [_encode_content(entry) for entry in drop_empty_texts(prompt.content)]
        return [{"role": "user", "parts": parts}]

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        self._calls = {
            call.call_id: self._encode_call_name(call)
            for call in resend.iterate_client_calls(reply)
        }
        parts = [part for part in map(self._encode_part, reply.parts) if part is not None]
        calls: list[JSONObject] = [
            part for part in parts if isinstance(part, dict) and "functionCall" in part
        ]
        # The first call of a step must have a signature.
        if self._signs and calls and "thoughtSignature" not in calls[0]:
            calls[0]["thoughtSignature"] = NO_SIGNATURE
        return [{"role": "model", "parts": parts}]

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        """Encode results. Since Gemini 3 images are inside a response; before, they follow all
        responses."""
        responses: list[JSONObject] = []
        images: list[JSONObject] = []
        for result in results:
            named = self._calls.get(result.call_id) or {"name": "unknown"}
            response = named | {"response": _encode_answer(result)}
            media = [_encode_content(entry) for entry in find_media(result.content)]
            if media and self._signs:
                response["parts"] = media
            else:
                images += media
            responses.append({"functionResponse": response})
        return [{"role": "user", "parts": responses + images}]

    def _encode_part(self, part: msg.Part) -> Any:
        if isinstance(part, msg.OpaquePart):
            return resend.to_raw_json(part) if self.is_ours else None
        encoded = self._encode_unsigned_part(part)
        if encoded is None or not self.is_ours:
            return encoded
        seals = [seal.value for seal in part.seals if seal.kind == "signature"]
        return encoded | ({"thoughtSignature": seals[-1]} if seals else {})

    def _encode_unsigned_part(self, part: msg.Part) -> JSONObject | None:
        match part:
            case msg.TextPart():
                # An empty text that carries a signature is a part like any other.
                is_sent = part.text or (part.seals and self.is_ours)
                return {"text": part.text} if is_sent else None
            case msg.CallPart(executor="client"):
                args = {"args": resend.to_arguments_object(part)}
                return {"functionCall": self._encode_call_name(part) | args}
            case _ if not self.is_ours:
                return None
            case msg.MediaPart():
                return _encode_media(part.media_type, part.data, part.url)
            case msg.ReasoningPart():
                return {"text": part.text, "thought": True} if part.seals else None
            case msg.CallPart():
                return _encode_provider_call(part)
            case msg.OutputPart():
                return dict(part.provider_data or {}) or None
            case _:
                return None

    def _encode_call_name(self, call: msg.CallPart) -> JSONObject:
        """Encode the name, and the id only if it is Google's own."""
        has_id = self.is_ours and not resend.is_generated_id(call.call_id)
        ids = {"id": call.call_id} if has_id else {}
        return ids | {"name": resend.get_tool_name(call)}


def _encode_content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent() | FileContent():
            return _encode_media(entry.media_type, entry.data, entry.url)
        case _:
            return {"text": to_text((entry,))}


def _encode_media(media_type: str, data: str | None, url: str | None) -> JSONObject:
    if url is not None:
        return {"fileData": {"mimeType": media_type, "fileUri": url}}
    return {"inlineData": {"mimeType": media_type, "data": data or ""}}


def _encode_provider_call(call: msg.CallPart) -> JSONObject:
    ids = {} if resend.is_generated_id(call.call_id) else {"id": call.call_id}
    if call.name == "code_execution":
        return {"executableCode": ids | as_object(call.args)}
    return {"toolCall": ids | {"toolType": call.name, "args": resend.to_arguments_object(call)}}


def _encode_answer(result: msg.CallResult) -> JSONObject:
    """Encode a result as an object, which Gemini needs."""
    if result.is_error:
        return {"error": to_text(result.content)}
    match result.content:
        case (JSONContent(value=value),) if as_object(value):
            return as_object(value)
        case _:
            return {"output": to_text(result.content)}

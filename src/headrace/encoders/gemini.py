"""Encodes Gemini requests."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import Content, FileContent, ImageContent, JSONContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.model_family import is_generation_at_least, parse_family
from headrace.encoders.request import Effort, Options, Request, ToolSpec, reject_options
from headrace.encoders.text_content import drop_empty_texts, find_media, to_text
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
_LEVELS_SINCE = (3, 0)
# Since Gemini 3 a first call without its signature is refused; for calls that another
# model made, Google names this word. https://ai.google.dev/gemini-api/docs/thought-signatures
NO_SIGNATURE = "skip_thought_signature_validator"


def encode_gemini(request: Request) -> JSONObject:
    """Encode the body of `POST /models/…:streamGenerateContent`; the model is in the address."""
    body: JSONObject = {"contents": _encode_contents(request)}
    system = _collect_instructions(request)
    if system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_encode_tool(tool) for tool in request.tools]}]
    if request.tool_choice is not None:
        body["toolConfig"] = {"functionCallingConfig": _encode_tool_choice(request.tool_choice)}
    config = _encode_generation_config(request.options, request.model)
    return body | ({"generationConfig": config} if config else {})


def _collect_instructions(request: Request) -> list[str]:
    """Return all instructions; Gemini has one field for them."""
    said = [request.instructions or ""]
    said += [to_text(m.content) for m in request.messages if m.role in ("system", "developer")]
    return [text for text in said if text.strip()]


# --- options ----------------------------------------------------------------------


def _encode_generation_config(options: Options, model: str) -> JSONObject:
    reject_options(options, "Gemini", "parallel_calls")
    named = {
        "maxOutputTokens": options.max_tokens,
        "temperature": options.temperature,
        "topP": options.top_p,
        "seed": options.seed,
        "stopSequences": list(options.stop) or None,
    }
    config: JSONObject = {name: value for name, value in named.items() if value is not None}
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


# --- contents ---------------------------------------------------------------------


def _encode_contents(request: Request) -> list[JSONObject]:
    contents: list[JSONObject] = []
    calls: dict[str, JSONObject] = {}
    signs = parse_family(request.model) == "gemini" and is_generation_at_least(
        request.model, _LEVELS_SINCE
    )
    for entry in msg.history(request.messages):
        match entry:
            case msg.PromptEntry(role="system" | "developer"):
                continue
            case msg.PromptEntry():
                _append_parts(
                    contents,
                    "user",
                    [_encode_content(part) for part in drop_empty_texts(entry.content)],
                )
            case msg.AssistantEntry():
                is_ours = resend.is_from_same_model(entry, request, "gemini")
                calls = {
                    call.call_id: _encode_call_name(call, is_ours)
                    for call in resend.iterate_client_calls(entry)
                }
                _append_parts(contents, "model", _encode_reply(entry, is_ours, signs))
            case msg.ToolResultsEntry():
                _append_parts(contents, "user", _encode_results(entry, calls, signs))
    return contents


def _append_parts(contents: list[JSONObject], role: str, parts: list[JSONObject]) -> None:
    """Append parts; consecutive parts of one role share a content, because roles must alternate."""
    if not parts:
        return
    if contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += parts
    else:
        contents.append({"role": role, "parts": parts})


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


# --- replies ----------------------------------------------------------------------


def _encode_reply(reply: msg.AssistantEntry, is_ours: bool, signs: bool) -> list[Any]:
    made = [_encode_part(part, is_ours) for part in reply.parts]
    parts = [part for part in made if part is not None]
    if signs:
        _fill_in_signature(
            [part for part in parts if isinstance(part, dict) and "functionCall" in part]
        )
    return parts


def _fill_in_signature(calls: list[JSONObject]) -> None:
    """Sign the first call of a step, which must have a signature."""
    if calls and "thoughtSignature" not in calls[0]:
        calls[0]["thoughtSignature"] = NO_SIGNATURE


def _encode_part(part: msg.Part, is_ours: bool) -> Any:
    if isinstance(part, msg.OpaquePart):
        return resend.to_raw_json(part) if is_ours else None
    made = _encode_unsigned_part(part, is_ours)
    if made is None or not is_ours:
        return made
    seals = [seal.value for seal in part.seals if seal.kind == "signature"]
    return made | ({"thoughtSignature": seals[-1]} if seals else {})


def _encode_unsigned_part(part: msg.Part, is_ours: bool) -> JSONObject | None:
    match part:
        case msg.TextPart():
            # An empty text that carries a signature is a part like any other.
            return {"text": part.text} if part.text or (part.seals and is_ours) else None
        case msg.CallPart(executor="client"):
            return {
                "functionCall": _encode_call_name(part, is_ours)
                | {"args": resend.to_arguments_object(part)}
            }
        case _ if not is_ours:
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


def _encode_call_name(call: msg.CallPart, is_ours: bool) -> JSONObject:
    """Encode the name, and the id only if it is Google's own."""
    has_id = is_ours and not resend.is_generated_id(call.call_id)
    return ({"id": call.call_id} if has_id else {}) | {"name": resend.get_tool_name(call)}


def _encode_provider_call(call: msg.CallPart) -> JSONObject:
    ids = {} if resend.is_generated_id(call.call_id) else {"id": call.call_id}
    if call.name == "code_execution":
        return {"executableCode": ids | as_object(call.args)}
    return {"toolCall": ids | {"toolType": call.name, "args": resend.to_arguments_object(call)}}


# --- results ----------------------------------------------------------------------


def _encode_results(
    entry: msg.ToolResultsEntry, calls: dict[str, JSONObject], signs: bool
) -> list[JSONObject]:
    """Encode results. Since Gemini 3 images are inside a response; before, they follow all
    responses."""
    responses = [_encode_response(result, calls) for result in entry.results]
    shown = [[_encode_content(m) for m in find_media(result.content)] for result in entry.results]
    if not signs:
        return [{"functionResponse": r} for r in responses] + [m for media in shown for m in media]
    return [
        {"functionResponse": response | ({"parts": media} if media else {})}
        for response, media in zip(responses, shown, strict=True)
    ]


def _encode_response(result: msg.CallResult, calls: dict[str, JSONObject]) -> JSONObject:
    named = calls.get(result.call_id) or {"name": "unknown"}
    return named | {"response": _encode_answer(result)}


def _encode_answer(result: msg.CallResult) -> JSONObject:
    """Encode a result as an object, which Gemini needs."""
    if result.is_error:
        return {"error": to_text(result.content)}
    match result.content:
        case (JSONContent(value=value),) if as_object(value):
            return as_object(value)
        case _:
            return {"output": to_text(result.content)}

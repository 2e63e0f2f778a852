"""Gemini requests."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import Content, FileContent, ImageContent, JSONContent
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import (
    CallPart,
    CallResult,
    MediaPart,
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
from headrace.requests.replay import arguments_as_object, is_own, text_of
from headrace.requests.request import Effort, Options, Request, Tool

_BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 1_024,
    "medium": 8_192,
    "high": 16_384,
    "max": 24_576,
}


def encode_gemini(request: Request) -> JSONObject:
    """The body of `POST /models/…:streamGenerateContent`; the model is in the address."""
    body: JSONObject = {"contents": _contents(request)}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
    if request.options.tool_choice is not None:
        config = _tool_choice(request.options.tool_choice)
        body["toolConfig"] = {"functionCallingConfig": config}
    config = _generation(request.options)
    return body | ({"generationConfig": config} if config else {})


# --- options ----------------------------------------------------------------------


def _generation(options: Options) -> JSONObject:
    if options.parallel_calls is not None:
        raise UsageError("Gemini has no option 'parallel_calls'")
    named = {
        "maxOutputTokens": options.max_tokens,
        "temperature": options.temperature,
        "topP": options.top_p,
        "seed": options.seed,
        "stopSequences": list(options.stop) or None,
    }
    config: JSONObject = {name: value for name, value in named.items() if value is not None}
    if options.effort is not None:
        budget = _BUDGETS[options.effort]
        config["thinkingConfig"] = {"thinkingBudget": budget, "includeThoughts": budget > 0}
    if options.output is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = options.output.schema
    return config


def _tool_choice(choice: str) -> JSONObject:
    modes = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
    if choice in modes:
        return {"mode": modes[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _tool(tool: Tool) -> JSONObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    }


# --- contents ---------------------------------------------------------------------


def _contents(request: Request) -> list[JSONObject]:
    contents: list[JSONObject] = []
    names: dict[str, str] = {}
    for entry in history(request.messages):
        match entry:
            case Prompt():
                _say(contents, "user", [_content(part) for part in entry.content])
            case Reply():
                names.update({p.call_id: p.name for p in entry.parts if isinstance(p, CallPart)})
                is_ours = is_own(entry, request, "gemini")
                made = [_part(part, is_ours) for part in entry.parts]
                _say(contents, "model", [part for part in made if part is not None])
            case Results():
                _say(contents, "user", [p for r in entry.results for p in _result(r, names)])
    return contents


def _say(contents: list[JSONObject], role: str, parts: list[JSONObject]) -> None:
    """Roles take turns: what the same side says next belongs to its content."""
    if not parts:
        return
    if contents and contents[-1]["role"] == role:
        contents[-1]["parts"] += parts
    else:
        contents.append({"role": role, "parts": parts})


def _content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent() | FileContent():
            return _media(entry.media_type, entry.data, entry.url)
        case _:
            return {"text": text_of((entry,))}


def _media(media_type: str, data: str | None, url: str | None) -> JSONObject:
    if url is not None:
        return {"fileData": {"mimeType": media_type, "fileUri": url}}
    return {"inlineData": {"mimeType": media_type, "data": data or ""}}


def _part(part: Part, is_ours: bool) -> JSONObject | None:
    made = _unsigned(part, is_ours)
    if made is None or not is_ours:
        return made
    seals = [seal.value for seal in part.seals if seal.kind == "signature"]
    return made | ({"thoughtSignature": seals[-1]} if seals else {})


def _unsigned(part: Part, is_ours: bool) -> JSONObject | None:
    match part:
        case TextPart():
            # An empty text that carries a signature is a part like any other.
            return {"text": part.text} if part.text or (part.seals and is_ours) else None
        case CallPart(executor="client"):
            return {"functionCall": _call(part, is_ours)}
        case MediaPart():
            return _media(part.media_type, part.data, part.url)
        case _ if not is_ours:
            return None
        case ReasoningPart():
            return {"text": part.text, "thought": True} if part.seals else None
        case CallPart(name="code_execution"):
            return {"executableCode": arguments_as_object(part)}
        case CallPart():
            said = {"id": part.call_id, "toolType": part.name, "args": part.args}
            return {"toolCall": said}
        case OutputPart():
            return dict(part.provider_data or {}) or None
        case OpaquePart():
            return msgspec.json.decode(part.data, type=dict[str, Any])
        case _:
            return None


def _call(call: CallPart, is_ours: bool) -> JSONObject:
    said: JSONObject = {"name": call.name, "args": arguments_as_object(call)}
    # An id that we made up is none of Google's business.
    is_given = is_ours and not call.call_id.startswith("call_")
    return ({"id": call.call_id} if is_given else {}) | said


def _result(result: CallResult, names: dict[str, str]) -> list[JSONObject]:
    answer = _answer(result)
    response: JSONObject = {"name": names.get(result.call_id, "tool"), "response": answer}
    if not result.call_id.startswith("call_"):
        response["id"] = result.call_id
    media = [e for e in result.content if isinstance(e, ImageContent | FileContent)]
    return [{"functionResponse": response}, *(_content(entry) for entry in media)]


def _answer(result: CallResult) -> JSONObject:
    """The grammar wants an object: a tool's own where it made one."""
    if result.is_error:
        return {"error": text_of(result.content)}
    if len(result.content) == 1 and isinstance(result.content[0], JSONContent):
        value = result.content[0].value
        if isinstance(value, dict):
            return value  # pyright: ignore[reportUnknownVariableType]
    return {"result": text_of(result.content)}

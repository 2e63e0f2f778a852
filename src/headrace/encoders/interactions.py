"""Encodes requests of Google's Interactions API."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import Content, FileContent, ImageContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.history_encoder import HistoryEncoder, collect_instructions
from headrace.encoders.option_table import OptionTable
from headrace.encoders.request import Effort, Options, Request, ToolSpec
from headrace.encoders.text_content import decode_text_file, drop_empty_texts, find_media, to_text
from headrace.events import JSONObject

_LEVELS: dict[Effort, str] = {
    "none": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
# What is sent inside `generation_config`.
_OPTIONS = OptionTable(
    provider="The Interactions API",
    fields={
        "max_tokens": "max_output_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "seed": "seed",
        "stop": "stop_sequences",
    },
    encoded=("effort", "modalities", "output", "service_tier"),
)
_MEDIA = ("image", "audio", "video")


def encode_interactions(request: Request) -> JSONObject:
    """Encode the body of `POST /interactions`. The whole conversation is sent, and nothing is
    stored."""
    body: JSONObject = {
        "model": request.model,
        "input": _StepEncoder(request).encode(),
        "stream": True,
        "store": False,
    }
    if instructions := collect_instructions(request):
        body["system_instruction"] = "\n\n".join(instructions)
    if request.tools:
        body["tools"] = [_encode_tool(tool) for tool in request.tools]
    if config := _encode_generation_config(request):
        body["generation_config"] = config
    return body | _encode_options(request.options)


def _encode_tool(tool: ToolSpec) -> JSONObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def _encode_generation_config(request: Request) -> JSONObject:
    config, options = _OPTIONS.collect(request.options), request.options
    if options.effort is not None:
        config["thinking_level"] = _LEVELS[options.effort]
        config["thinking_summaries"] = "none" if options.effort == "none" else "auto"
    if request.tool_choice is not None:
        config["tool_choice"] = _encode_tool_choice(request.tool_choice)
    return config


def _encode_tool_choice(choice: str) -> Any:
    if choice in ("auto", "none"):
        return choice
    if choice == "required":
        return "any"
    return {"allowed_tools": {"mode": "any", "tools": [choice]}}


def _encode_options(options: Options) -> JSONObject:
    body: JSONObject = {}
    if options.modalities:
        body["response_modalities"] = [*options.modalities]
    if options.service_tier is not None:
        body["service_tier"] = options.service_tier
    if options.output is not None:
        body["response_format"] = {
            "type": "text",
            "mime_type": "application/json",
            "schema": options.output.schema,
        }
    return body


class _StepEncoder(HistoryEncoder):
    dialect = "interactions"

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._names: dict[str, str] = {}

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        content = drop_empty_texts(prompt.content)
        if prompt.role != "user" or not content:
            return []
        return [{"type": "user_input", "content": [_encode_content(entry) for entry in content]}]

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        """Encode a reply. Texts in a row are one step."""
        calls = resend.iterate_client_calls(reply)
        self._names = {call.call_id: resend.get_tool_name(call) for call in calls}
        steps: list[JSONObject] = []
        for part in reply.parts:
            step = self._encode_part(part)
            if step is None:
                continue
            if steps and step["type"] == steps[-1]["type"] == "model_output":
                steps[-1]["content"] += step["content"]
            else:
                steps.append(step)
        return steps

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        return [self._encode_result(result) for result in results]

    def _encode_part(self, part: msg.Part) -> JSONObject | None:
        match part:
            case msg.TextPart() if part.text.strip():
                return {"type": "model_output", "content": [_encode_text(part.text)]}
            case msg.CallPart(executor="client"):
                return self._encode_call(part)
            case msg.MediaPart() if self.is_ours:
                media = _encode_media(part.media_type, part.data, part.url)
                return {"type": "model_output", "content": [media]}
            case msg.ReasoningPart(signature=str(signature)) if self.is_ours:
                summary = {"summary": [_encode_text(part.text)]} if part.text else {}
                return {"type": "thought", "signature": signature, **summary}
            case _:
                return None

    def _encode_call(self, call: msg.CallPart) -> JSONObject:
        step: JSONObject = {
            "type": "function_call",
            "id": self.ids[call.call_id],
            "name": resend.get_tool_name(call),
            "arguments": resend.to_arguments_object(call),
        }
        seals = [seal.value for seal in call.seals if seal.kind == "signature"]
        return step | ({"signature": seals[-1]} if seals and self.is_ours else {})

    def _encode_result(self, result: msg.CallResult) -> JSONObject:
        media = [_encode_content(entry) for entry in find_media(result.content)]
        text = to_text(result.content)
        step: JSONObject = {
            "type": "function_result",
            "call_id": self.ids[result.call_id],
            "name": self._names.get(result.call_id, "unknown"),
            "result": [_encode_text(text), *media] if media else text,
        }
        return step | ({"is_error": True} if result.is_error else {})


def _encode_text(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def _encode_content(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return _encode_media(entry.media_type, entry.data, entry.url)
        case FileContent() if decode_text_file(entry) is None:
            return _encode_media(entry.media_type, entry.data, entry.url)
        case _:
            return _encode_text(to_text((entry,)))


def _encode_media(media_type: str, data: str | None, url: str | None) -> JSONObject:
    kind = media_type.partition("/")[0]
    place = {"uri": url} if url is not None else {"data": data or ""}
    return {"type": kind if kind in _MEDIA else "document", "mime_type": media_type, **place}

"""Encodes Chat Completions requests."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import CacheBreak, Content, FileContent, ImageContent, data_url
from headrace.encoders import resend_rules as resend
from headrace.encoders.cache_point import encode_break, place_points
from headrace.encoders.chat.quirks import DEFAULT_REQUEST_QUIRKS, EFFORTS, ChatRequestQuirks
from headrace.encoders.chat.reasoning import encode_reasoning
from headrace.encoders.history_encoder import HistoryEncoder
from headrace.encoders.option_table import OptionTable
from headrace.encoders.provider_tool import (
    ProviderTool,
    WebSearch,
    named_fields,
    refuse,
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
from headrace.encoders.text_content import decode_text_file, drop_empty_texts, find_images, to_text
from headrace.errors import UsageError
from headrace.events import JSONObject

_OPTIONS = OptionTable(
    provider="this provider",
    fields={
        name: name
        for name in (
            "temperature",
            "top_p",
            "top_k",
            "stop",
            "seed",
            "frequency_penalty",
            "presence_penalty",
            "logit_bias",
            "verbosity",
            "modalities",
            "user",
            "service_tier",
            "prompt_cache_key",
        )
    },
    encoded=("max_tokens", "effort", "logprobs", "output", "parallel_calls", "top_logprobs"),
)
# https://openrouter.ai/docs/features/prompt-caching
_MARKED_VENDORS = ("anthropic/", "google/", "qwen/")
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def encode_chat(request: Request, rules: ChatRequestQuirks = DEFAULT_REQUEST_QUIRKS) -> JSONObject:
    """Encode the body of `POST /chat/completions`."""
    encoder = _MessageEncoder(request, rules)
    body: JSONObject = {"model": request.model, "messages": encoder.encode(), "stream": True}
    if rules.asks_for_usage:
        body["stream_options"] = {"include_usage": True}
    body |= encode_tool_fields(request, _encode_tool, _encode_tool_choice)
    if request.provider_tools:
        body["plugins"] = [_encode_plugin(tool, rules) for tool in request.provider_tools]
    if encoder.takes_marks:
        place_points(body["messages"], [], request.options.cache)
    return body | _encode_options(request.options, rules)


def _encode_options(options: Options, rules: ChatRequestQuirks) -> JSONObject:
    body = _OPTIONS.collect(options, rules.lacks)
    if options.max_tokens is not None:
        body[rules.max_tokens_field] = options.max_tokens
    body |= encode_logprobs(options)
    if options.effort is not None:
        body |= _encode_effort(options.effort, rules)
    output = options.output
    if output is not None:
        schema = {"name": output.name, "schema": output.schema, "strict": output.is_strict}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _encode_plugin(tool: ProviderTool, rules: ChatRequestQuirks) -> JSONObject:
    if not isinstance(tool, WebSearch) or not rules.has_web_plugin:
        raise refuse(tool, "this provider")
    refuse_settings(tool, "this provider", "max_uses", "location", "context_size")
    return {"id": "web"} | named_fields(
        include_domains=tool.allowed_domains, exclude_domains=tool.blocked_domains
    )


def _encode_tool_choice(choice: str) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _encode_effort(effort: Effort, rules: ChatRequestQuirks) -> JSONObject:
    """Encode the effort in the provider's own field. If that only switches thinking on and off, any
    effort switches it on."""
    thinks = effort != "none"
    switch = {"type": "enabled" if thinks else "disabled"}
    match rules.effort:
        case "reasoning_effort":
            return {"reasoning_effort": _map_effort(effort, rules)}
        case "reasoning":
            return {"reasoning": {"effort": _map_effort(effort, rules)}}
        case "thinking":
            return {"thinking": switch}
        case "thinking_effort":
            word = {"reasoning_effort": _map_effort(effort, rules)} if thinks else {}
            return {"thinking": switch} | word
        case "enable_thinking":
            return {"enable_thinking": thinks}
        case "chat_template_kwargs":
            return {"chat_template_kwargs": {"enable_thinking": thinks}}
        case None:
            raise UsageError("this provider has no option 'effort': leave it out")


def _map_effort(effort: Effort, rules: ChatRequestQuirks) -> str:
    """Return the effort, or the next lower one that the provider knows."""
    if effort in rules.efforts:
        return effort
    if effort == "none":
        raise UsageError("this provider cannot turn reasoning off: leave 'effort' out")
    lower = [word for word in rules.efforts if EFFORTS.index(word) < EFFORTS.index(effort)]
    thinking = [word for word in lower if word != "none"]
    return thinking[-1] if thinking else next(word for word in rules.efforts if word != "none")


def _encode_tool(tool: ToolSpec) -> JSONObject:
    function: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if tool.is_strict:
        function["strict"] = True
    return {"type": "function", "function": function}


class _MessageEncoder(HistoryEncoder):
    dialect = "chat"
    has_system_messages = True

    def __init__(self, request: Request, rules: ChatRequestQuirks) -> None:
        super().__init__(request, rules.call_id_pattern)
        self._rules = rules
        # Whether the vendor of the model caches only up to marked places.
        self.takes_marks = rules.cache == "marked" and request.model.startswith(_MARKED_VENDORS)

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        """Encode a prompt. All providers understand `system`; only OpenAI knows `developer`, and
        takes both."""
        content = drop_empty_texts(prompt.content)
        role = "system" if prompt.role == "developer" else prompt.role
        encoded = _encode_content(content, self._rules)
        if self.takes_marks and any(isinstance(entry, CacheBreak) for entry in prompt.content):
            encoded = [
                encode_break(entry)
                if isinstance(entry, CacheBreak)
                else _encode_content_part(entry, self._rules)
                for entry in prompt.content
                if isinstance(entry, CacheBreak) or drop_empty_texts((entry,))
            ]
        return [{"role": role, "content": encoded}] if content else []

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        texts = [part for part in reply.parts if isinstance(part, msg.TextPart)]
        text = "".join(part.text for part in texts if not (part.is_refusal and self.is_ours))
        refusal = "".join(part.text for part in texts if part.is_refusal and self.is_ours)
        calls = [self._encode_call(part) for part in resend.iterate_client_calls(reply)]
        if not (text or refusal or calls):
            return []
        message: JSONObject = {"role": "assistant", "content": text or None}
        if refusal:
            message["refusal"] = refusal
        if calls:
            message["tool_calls"] = calls
        return [message | encode_reasoning(reply, self.is_ours, self._rules)]

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        """Encode results. Images follow in a user message, because a tool message takes only
        text."""
        messages: list[JSONObject] = [
            {
                "role": "tool",
                "tool_call_id": self.ids[result.call_id],
                "content": to_text(result.content) or "(no output)",
            }
            for result in results
        ]
        images = [image for result in results for image in find_images(result.content)]
        if images:
            content = [_encode_content_part(image, self._rules) for image in images]
            messages.append({"role": "user", "content": content})
        return messages

    def _encode_call(self, part: msg.CallPart) -> JSONObject:
        call: JSONObject = {"id": self.ids[part.call_id]}
        name = resend.get_tool_name(part)
        if part.input == "text" and self.is_ours:
            return call | {"type": "custom", "custom": {"name": name, "input": part.raw}}
        function = {"name": name, "arguments": resend.encode_arguments(part)}
        extra = (part.provider_data or {}) if self.is_ours else {}
        return call | {"type": "function", "function": function} | extra


def _encode_content(content: list[Content], rules: ChatRequestQuirks) -> Any:
    parts = [_encode_content_part(entry, rules) for entry in content]
    return parts if any(part["type"] != "text" for part in parts) else to_text(content)


def _encode_content_part(entry: Content, rules: ChatRequestQuirks) -> JSONObject:
    match entry:
        case ImageContent():
            return {"type": "image_url", "image_url": {"url": data_url(entry)}}
        case FileContent(media_type=kind, data=str(data)) if kind in _SOUNDS:
            return {"type": "input_audio", "input_audio": {"data": data, "format": _SOUNDS[kind]}}
        case FileContent() if decode_text_file(entry) is None:
            if entry.url is not None and not rules.takes_file_urls:
                raise UsageError(
                    f"this provider takes the data of a file, not its address ({entry.url}):"
                    " send the data, or ask through the Responses API"
                )
            if entry.url is None and entry.media_type != "application/pdf":
                raise UsageError(
                    "this provider reads text, PDF, WAV and MP3 files, and this is"
                    f" {entry.media_type}"
                )
            file = {"filename": entry.name or "file", "file_data": data_url(entry)}
            return {"type": "file", "file": file}
        case _:
            return {"type": "text", "text": to_text((entry,))}

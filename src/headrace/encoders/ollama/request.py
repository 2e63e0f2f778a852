"""Encodes Ollama chat requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import messages as msg
from headrace.content import Content, ImageContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.history_encoder import HistoryEncoder
from headrace.encoders.option_table import OptionTable
from headrace.encoders.request import Effort, Options, Request, ToolSpec
from headrace.encoders.text_content import drop_empty_texts, find_images, find_media, to_text
from headrace.errors import UsageError
from headrace.events import JSONObject

# Models with levels take a word; for the others any word switches thinking on.
_THINK: dict[Effort, Any] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}

_OPTIONS = OptionTable(
    provider="Ollama",
    fields={
        "max_tokens": "num_predict",
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "seed": "seed",
        "stop": "stop",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
    },
    encoded=("effort", "output"),
)


def encode_ollama(request: Request) -> JSONObject:
    """Encode the body of `POST /api/chat`."""
    settings, choice = encode_settings(request.options), request.tool_choice
    if choice not in (None, "auto", "none"):
        raise UsageError("Ollama does not support tool_choice: leave it out")
    body: JSONObject = {
        "model": request.model,
        "messages": _MessageEncoder(request).encode(),
        "stream": True,
    }
    if request.tools and choice != "none":
        body["tools"] = [_encode_tool(tool) for tool in request.tools]
    return body | settings


def encode_settings(options: Options) -> JSONObject:
    """Encode the options. Raises `UsageError` for those that Ollama does not have."""
    named, fields = _OPTIONS.collect(options), dict[str, Any]()
    if options.effort is not None:
        fields["think"] = _THINK[options.effort]
    if options.output is not None:
        fields["format"] = options.output.schema
    return fields | ({"options": named} if named else {})


def _encode_tool(tool: ToolSpec) -> JSONObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


class _MessageEncoder(HistoryEncoder):
    dialect = "ollama"
    has_system_messages = True

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._names: dict[str, str] = {}

    def encode_prompt(self, prompt: msg.PromptEntry) -> list[JSONObject]:
        content = drop_empty_texts(prompt.content)
        refuse_other_media(content)
        if not content:
            return []
        role = "system" if prompt.role == "developer" else prompt.role
        texts = [entry for entry in content if not isinstance(entry, ImageContent)]
        return [{"role": role, "content": to_text(texts), **encode_images(content)}]

    def encode_reply(self, reply: msg.AssistantEntry) -> list[JSONObject]:
        calls = list(resend.iterate_client_calls(reply))
        self._names = {call.call_id: resend.get_tool_name(call) for call in calls}
        text = "".join(part.text for part in reply.parts if isinstance(part, msg.TextPart))
        thought = "".join(part.text for part in reply.parts if isinstance(part, msg.ReasoningPart))
        if not (text or calls):
            return []
        message: JSONObject = {"role": "assistant", "content": text}
        if thought and self.is_ours:
            message["thinking"] = thought
        if calls:
            message["tool_calls"] = [_encode_call(call) for call in calls]
        return [message]

    def encode_results(self, results: tuple[msg.CallResult, ...]) -> list[JSONObject]:
        """Encode results; Ollama finds the call by name and order."""
        return [
            {
                "role": "tool",
                "tool_name": self._names.get(result.call_id, "unknown"),
                "content": to_text(result.content),
                **encode_images(result.content),
            }
            for result in results
        ]


def _encode_call(call: msg.CallPart) -> JSONObject:
    name, arguments = resend.get_tool_name(call), resend.to_arguments_object(call)
    return {"function": {"name": name, "arguments": arguments}}


def refuse_other_media(content: Iterable[Content]) -> None:
    """Raise `UsageError` for media that are no images in the request itself."""
    for entry in find_media(content):
        if not isinstance(entry, ImageContent) or entry.data is None:
            what = entry.url or entry.media_type
            raise UsageError(f"Ollama takes text and images as data, and this is {what}")


def encode_images(content: Iterable[Content]) -> JSONObject:
    """Return the field of the images, if there are any."""
    images = [image.data for image in find_images(content) if image.data]
    return {"images": images} if images else {}

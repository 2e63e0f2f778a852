"""Encodes Ollama chat requests."""

from __future__ import annotations

from typing import Any

from headrace import messages as msg
from headrace.content import ImageContent
from headrace.encoders import resend_rules as resend
from headrace.encoders.request import Effort, Options, Request, ToolSpec, reject_options
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


def encode_ollama(request: Request) -> JSONObject:
    """Encode the body of `POST /api/chat`."""
    options, choice = request.options, request.tool_choice
    reject_options(options, "Ollama", "parallel_calls")
    if choice not in (None, "auto", "none"):
        raise UsageError("Ollama cannot be told which tool to call: leave 'tool_choice' out")
    body: JSONObject = {
        "model": request.model,
        "messages": _encode_messages(request),
        "stream": True,
    }
    if request.tools and choice != "none":
        body["tools"] = [_encode_tool(tool) for tool in request.tools]
    if options.effort is not None:
        body["think"] = _THINK[options.effort]
    if options.output is not None:
        body["format"] = options.output.schema
    named = _encode_options(options)
    return body | ({"options": named} if named else {})


def _encode_options(options: Options) -> JSONObject:
    named = {
        "num_predict": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": list(options.stop) or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def _encode_tool(tool: ToolSpec) -> JSONObject:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


# --- messages ---------------------------------------------------------------------


def _encode_messages(request: Request) -> list[JSONObject]:
    messages: list[JSONObject] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    names: dict[str, str] = {}
    for entry in msg.history(request.messages):
        match entry:
            case msg.PromptEntry():
                messages += _encode_prompt(entry)
            case msg.AssistantEntry():
                names = {
                    call.call_id: resend.get_tool_name(call)
                    for call in resend.iterate_client_calls(entry)
                }
                messages += _encode_reply(
                    entry, resend.is_from_same_model(entry, request, "ollama")
                )
            case msg.ToolResultsEntry():
                messages += [_encode_result(result, names) for result in entry.results]
    return messages


def _encode_prompt(prompt: msg.PromptEntry) -> list[JSONObject]:
    content = drop_empty_texts(prompt.content)
    for entry in find_media(content):
        if not isinstance(entry, ImageContent) or entry.data is None:
            what = entry.url or entry.media_type
            raise UsageError(f"Ollama takes text and images as data, and this is {what}")
    if not content:
        return []
    role = "system" if prompt.role == "developer" else prompt.role
    texts = [entry for entry in content if not isinstance(entry, ImageContent)]
    return [{"role": role, "content": to_text(texts), **_encode_images(prompt.content)}]


def _encode_images(content: Any) -> JSONObject:
    images = [image.data for image in find_images(content) if image.data]
    return {"images": images} if images else {}


def _encode_reply(reply: msg.AssistantEntry, is_ours: bool) -> list[JSONObject]:
    text = "".join(part.text for part in reply.parts if isinstance(part, msg.TextPart))
    thought = "".join(part.text for part in reply.parts if isinstance(part, msg.ReasoningPart))
    calls = [_encode_call(call) for call in resend.iterate_client_calls(reply)]
    if not (text or calls):
        return []
    message: JSONObject = {"role": "assistant", "content": text}
    if thought and is_ours:
        message["thinking"] = thought
    return [message | ({"tool_calls": calls} if calls else {})]


def _encode_call(call: msg.CallPart) -> JSONObject:
    return {
        "function": {
            "name": resend.get_tool_name(call),
            "arguments": resend.to_arguments_object(call),
        }
    }


def _encode_result(result: msg.CallResult, names: dict[str, str]) -> JSONObject:
    """Encode a result; Ollama finds the call by name and order."""
    name = names.get(result.call_id, "unknown")
    message = {"role": "tool", "tool_name": name, "content": to_text(result.content)}
    return message | _encode_images(result.content)

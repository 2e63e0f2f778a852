"""Ollama chat requests."""

from __future__ import annotations

from typing import Any

from headrace.content import ImageContent
from headrace.encoders.request import Effort, Options, Request, ToolSpec, refuse
from headrace.encoders.resend_rules import arguments_as_object, client_calls, is_own, name_of
from headrace.encoders.text_content import images_in, media_in, spoken, text_of
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import (
    AssistantEntry,
    CallPart,
    CallResult,
    PromptEntry,
    ReasoningPart,
    TextPart,
    ToolResultsEntry,
    history,
)

# Models with levels take a word; the others take any of them for a yes.
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
    """The body of `POST /api/chat`."""
    options, choice = request.options, request.tool_choice
    refuse(options, "Ollama", "parallel_calls")
    if choice not in (None, "auto", "none"):
        raise UsageError("Ollama cannot be told which tool to call: leave 'tool_choice' out")
    body: JSONObject = {"model": request.model, "messages": _messages(request), "stream": True}
    if request.tools and choice != "none":
        body["tools"] = [_tool(tool) for tool in request.tools]
    if options.effort is not None:
        body["think"] = _THINK[options.effort]
    if options.output is not None:
        body["format"] = options.output.schema
    named = _named(options)
    return body | ({"options": named} if named else {})


def _named(options: Options) -> JSONObject:
    named = {
        "num_predict": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": list(options.stop) or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def _tool(tool: ToolSpec) -> JSONObject:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


# --- messages ---------------------------------------------------------------------


def _messages(request: Request) -> list[JSONObject]:
    messages: list[JSONObject] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    names: dict[str, str] = {}
    for entry in history(request.messages):
        match entry:
            case PromptEntry():
                messages += _prompt(entry)
            case AssistantEntry():
                names = {call.call_id: name_of(call) for call in client_calls(entry)}
                messages += _reply(entry, is_own(entry, request, "ollama"))
            case ToolResultsEntry():
                messages += [_result(result, names) for result in entry.results]
    return messages


def _prompt(prompt: PromptEntry) -> list[JSONObject]:
    content = spoken(prompt.content)
    for entry in media_in(content):
        if not isinstance(entry, ImageContent) or entry.data is None:
            what = entry.url or entry.media_type
            raise UsageError(f"Ollama takes text and images as data, and this is {what}")
    if not content:
        return []
    role = "system" if prompt.role == "developer" else prompt.role
    texts = [entry for entry in content if not isinstance(entry, ImageContent)]
    return [{"role": role, "content": text_of(texts), **_images(prompt.content)}]


def _images(content: Any) -> JSONObject:
    images = [image.data for image in images_in(content) if image.data]
    return {"images": images} if images else {}


def _reply(reply: AssistantEntry, is_ours: bool) -> list[JSONObject]:
    text = "".join(part.text for part in reply.parts if isinstance(part, TextPart))
    thought = "".join(part.text for part in reply.parts if isinstance(part, ReasoningPart))
    calls = [_call(call) for call in client_calls(reply)]
    if not (text or calls):
        return []
    message: JSONObject = {"role": "assistant", "content": text}
    if thought and is_ours:
        message["thinking"] = thought
    return [message | ({"tool_calls": calls} if calls else {})]


def _call(call: CallPart) -> JSONObject:
    return {"function": {"name": name_of(call), "arguments": arguments_as_object(call)}}


def _result(result: CallResult, names: dict[str, str]) -> JSONObject:
    """Results find their calls by name and order."""
    name = names.get(result.call_id, "unknown")
    message = {"role": "tool", "tool_name": name, "content": text_of(result.content)}
    return message | _images(result.content)

"""Ollama chat requests."""

from __future__ import annotations

from typing import Any

from headrace.content import ImageContent
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import (
    CallPart,
    CallResult,
    Prompt,
    ReasoningPart,
    Reply,
    Results,
    TextPart,
    history,
)
from headrace.requests.replay import arguments_as_object, images_in, is_own, text_of
from headrace.requests.request import Options, Request, Tool


def encode_ollama(request: Request) -> JSONObject:
    """The body of `POST /api/chat`."""
    options = request.options
    body: JSONObject = {"model": request.model, "messages": _messages(request), "stream": True}
    if request.tools and options.tool_choice != "none":
        body["tools"] = [_tool(tool) for tool in request.tools]
    if options.tool_choice not in (None, "auto", "none"):
        raise UsageError("Ollama cannot be told which tool to call: leave 'tool_choice' out")
    if options.parallel_calls is not None:
        raise UsageError("Ollama has no option 'parallel_calls'")
    if options.effort is not None:
        body["think"] = _think(options)
    if options.output is not None:
        body["format"] = options.output.schema
    named = _named(options)
    return body | ({"options": named} if named else {})


def _think(options: Options) -> Any:
    """Models with levels take a word; the others take a yes for any of them."""
    if options.effort == "none":
        return False
    return options.effort if options.effort in ("low", "medium", "high") else True


def _named(options: Options) -> JSONObject:
    named = {
        "num_predict": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": list(options.stop) or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def _tool(tool: Tool) -> JSONObject:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def _messages(request: Request) -> list[JSONObject]:
    messages: list[JSONObject] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    names: dict[str, str] = {}
    for entry in history(request.messages):
        match entry:
            case Prompt():
                messages.append(_prompt(entry))
            case Reply():
                names.update({p.call_id: p.name for p in entry.parts if isinstance(p, CallPart)})
                messages += _reply(entry, request)
            case Results():
                messages += [_result(result, names) for result in entry.results]
    return messages


def _prompt(prompt: Prompt) -> JSONObject:
    role = "system" if prompt.role == "developer" else prompt.role
    texts = tuple(entry for entry in prompt.content if not isinstance(entry, ImageContent))
    return {"role": role, "content": text_of(texts), **_images(prompt.content)}


def _images(content: Any) -> JSONObject:
    images = [image.data for image in images_in(content) if image.data]
    return {"images": images} if images else {}


def _reply(reply: Reply, request: Request) -> list[JSONObject]:
    text = "".join(part.text for part in reply.parts if isinstance(part, TextPart))
    thought = "".join(part.text for part in reply.parts if isinstance(part, ReasoningPart))
    calls = [
        {"function": {"name": part.name, "arguments": arguments_as_object(part)}}
        for part in reply.parts
        if isinstance(part, CallPart) and part.executor == "client"
    ]
    if not (text or calls):
        return []
    message: JSONObject = {"role": "assistant", "content": text}
    if thought and is_own(reply, request, "ollama"):
        message["thinking"] = thought
    return [message | ({"tool_calls": calls} if calls else {})]


def _result(result: CallResult, names: dict[str, str]) -> JSONObject:
    name = names.get(result.call_id, "")
    message = {"role": "tool", "tool_name": name, "content": text_of(result.content)}
    return message | _images(result.content)

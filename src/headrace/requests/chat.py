"""Chat Completions requests."""

from __future__ import annotations

from typing import Any

from headrace.content import Content, FileContent, ImageContent
from headrace.errors import UsageError
from headrace.events import JSONObject
from headrace.messages import (
    CallPart,
    CallResult,
    Prompt,
    ReasoningPart,
    RedactedPart,
    Reply,
    Results,
    TextPart,
    history,
)
from headrace.requests.replay import (
    arguments_as_written,
    data_url,
    images_in,
    is_own,
    text_of,
)
from headrace.requests.request import Effort, Options, Request, Tool
from headrace.requests.rules import DEFAULT_RULES, ChatRules

_EFFORT_WORDS: dict[Effort, str] = {
    "none": "none",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "max": "xhigh",
}


def encode_chat(request: Request, rules: ChatRules = DEFAULT_RULES) -> JSONObject:
    """The body of `POST /chat/completions`."""
    body: JSONObject = {
        "model": request.model,
        "messages": _messages(request, rules),
        "stream": True,
    }
    if rules.asks_for_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body.update(_options(request.options, rules))
    return body


# --- options ----------------------------------------------------------------------


def _options(options: Options, rules: ChatRules) -> JSONObject:
    body: JSONObject = {}
    if options.max_tokens is not None:
        body[rules.max_tokens_field] = options.max_tokens
    for name in ("temperature", "top_p"):
        if getattr(options, name) is not None:
            body[name] = getattr(options, name)
    if options.stop:
        body["stop"] = list(options.stop)
    if options.seed is not None:
        body["seed"] = _offered(options.seed, rules.has_seed, "seed")
    if options.parallel_calls is not None:
        body["parallel_tool_calls"] = options.parallel_calls
    if options.tool_choice is not None:
        body["tool_choice"] = _tool_choice(options.tool_choice)
    if options.effort is not None:
        body.update(_effort(options.effort, rules))
    if options.output is not None:
        schema = _offered(options.output.schema, rules.has_output_schema, "output")
        named = {"name": options.output.name, "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _offered(value: Any, is_offered: bool, name: str) -> Any:
    if not is_offered:
        raise UsageError(f"this provider has no option {name!r}")
    return value


def _tool_choice(choice: str) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _effort(effort: Effort, rules: ChatRules) -> JSONObject:
    """The provider's own knob. Where it only turns thinking on and off, any effort turns
    it on."""
    thinks = effort != "none"
    match rules.effort:
        case "reasoning_effort":
            return {"reasoning_effort": _EFFORT_WORDS[effort]}
        case "reasoning":
            return {"reasoning": {"effort": _EFFORT_WORDS[effort]}}
        case "thinking":
            return {"thinking": {"type": "enabled" if thinks else "disabled"}}
        case "enable_thinking":
            return {"enable_thinking": thinks}
        case "chat_template_kwargs":
            return {"chat_template_kwargs": {"enable_thinking": thinks}}
        case None:
            raise UsageError("this provider has no knob for 'effort': leave it out")


def _tool(tool: Tool) -> JSONObject:
    function: JSONObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if tool.is_strict:
        function["strict"] = True
    return {"type": "function", "function": function}


# --- messages ---------------------------------------------------------------------


def _messages(request: Request, rules: ChatRules) -> list[JSONObject]:
    messages: list[JSONObject] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for entry in history(request.messages):
        match entry:
            case Prompt():
                messages.append({"role": entry.role, "content": _content(entry.content)})
            case Reply():
                messages += _reply(entry, request, rules)
            case Results():
                messages += [_result(result) for result in entry.results]
                messages += _shown_images(entry.results)
    return messages


def _content(content: tuple[Content, ...]) -> Any:
    if any(isinstance(entry, ImageContent | FileContent) for entry in content):
        return [_content_part(entry) for entry in content]
    return text_of(content)


def _content_part(entry: Content) -> JSONObject:
    match entry:
        case ImageContent():
            return {"type": "image_url", "image_url": {"url": data_url(entry)}}
        case FileContent():
            file = {"filename": entry.name or "file", "file_data": data_url(entry)}
            return {"type": "file", "file": file}
        case _:
            return {"type": "text", "text": text_of((entry,))}


def _reply(reply: Reply, request: Request, rules: ChatRules) -> list[JSONObject]:
    texts = [part for part in reply.parts if isinstance(part, TextPart)]
    text = "".join(part.text for part in texts if not part.is_refusal)
    refusal = "".join(part.text for part in texts if part.is_refusal)
    calls = [_call(part) for part in reply.parts if _is_ours(part)]
    if not (text or refusal or calls):
        return []
    message: JSONObject = {"role": "assistant", "content": text or None}
    if refusal:
        message["refusal"] = refusal
    if is_own(reply, request, "chat") and rules.replays:
        message.update(_reasoning(reply, rules, text))
    if calls:
        message["tool_calls"] = calls
    return [message]


def _is_ours(part: Any) -> bool:
    return isinstance(part, CallPart) and part.executor == "client"


def _call(part: Any) -> JSONObject:
    assert isinstance(part, CallPart)
    call: JSONObject = {"id": part.call_id}
    if part.input == "text":
        call |= {"type": "custom", "custom": {"name": part.name, "input": part.raw}}
    else:
        function = {"name": part.name, "arguments": arguments_as_written(part)}
        call |= {"type": "function", "function": function}
    return call | (part.provider_data or {})


def _result(result: CallResult) -> JSONObject:
    text = text_of(result.content) or "(no output)"
    return {"role": "tool", "tool_call_id": result.call_id, "content": text}


def _shown_images(results: tuple[CallResult, ...]) -> list[JSONObject]:
    """Images that tools made, as the user's: a tool's message takes only text."""
    images = [image for result in results for image in images_in(result.content)]
    if not images:
        return []
    return [{"role": "user", "content": [_content_part(image) for image in images]}]


# --- reasoning that goes back -----------------------------------------------------


def _reasoning(reply: Reply, rules: ChatRules, text: str) -> JSONObject:
    thoughts = [part for part in reply.parts if isinstance(part, ReasoningPart)]
    words = "".join(part.text for part in thoughts)
    match rules.replays:
        case "reasoning_details":
            details = [d for part in reply.parts for d in _details(part)]
            return {"reasoning_details": details} if details else {}
        case "thinking_parts" if words:
            thinking = {"type": "thinking", "thinking": [{"type": "text", "text": words}]}
            spoken = [{"type": "text", "text": text}] if text else []
            return {"content": [thinking, *spoken]}
        case "reasoning_text" if words:
            seal = next((part.signature for part in reversed(thoughts) if part.signature), None)
            return {"reasoning_text": words} | ({"reasoning_opaque": seal} if seal else {})
        case "reasoning_content" | "reasoning" if words:
            return {rules.replays: words}
        case _:
            return {}


def _details(part: Any) -> list[JSONObject]:
    """The entries of `reasoning_details` that a part came from."""
    facts: JSONObject = getattr(part, "provider_data", None) or {}
    if isinstance(part, RedactedPart):
        entry: JSONObject = {"type": "reasoning.encrypted", "data": part.data}
    elif isinstance(part, ReasoningPart) and part.kind == "summary":
        entry = {"type": "reasoning.summary", "summary": part.text}
    elif isinstance(part, ReasoningPart):
        entry = {"type": "reasoning.text", "text": part.text}
        if part.signature:
            entry["signature"] = part.signature
    else:
        return []
    return [entry | facts | ({"id": part.item_id} if part.item_id else {})]

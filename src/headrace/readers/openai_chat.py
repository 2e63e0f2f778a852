"""Reads requests of the Chat Completions API.

Fields of other providers with the same API are understood too, where they say something about
reasoning.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.content import TextContent
from headrace.encoders.claude.thinking import find_effort
from headrace.encoders.request import Effort, Options, OutputSchema, Request, ToolSpec, Verbosity
from headrace.events import JSONObject
from headrace.messages import Message
from headrace.readers.body import (
    convert_body,
    has_envelope,
    read_effort,
    read_history,
    refuse,
)
from headrace.readers.incoming import IncomingRequest, InvalidRequest
from headrace.wire.json.value import as_int, as_object, as_objects, as_text

DIALECT = "chat"
# What a request to think without a number or a word means.
_DEFAULT_EFFORT: Effort = "medium"


class ChatRequest(IncomingRequest, frozen=True, kw_only=True):
    """A request of the Chat Completions API."""

    include_usage: bool = False
    """Whether a stream ends with a chunk that has the usage."""


class _Body(msgspec.Struct, kw_only=True):
    """The fields that are understood."""

    model: str
    messages: list[JSONObject]
    stream: bool | None = None
    stream_options: JSONObject | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, int] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    verbosity: Verbosity | None = None
    user: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    tools: list[JSONObject] | None = None
    tool_choice: str | JSONObject | None = None
    parallel_tool_calls: bool | None = None
    functions: list[JSONObject] | None = None
    function_call: str | JSONObject | None = None
    response_format: JSONObject | None = None
    reasoning_effort: str | None = None
    reasoning: JSONObject | None = None
    thinking: JSONObject | None = None
    enable_thinking: bool | None = None
    chat_template_kwargs: JSONObject | None = None
    modalities: list[str] | None = None
    n: int | None = None
    audio: JSONObject | None = None


def read_request(body: JSONObject) -> ChatRequest:
    """Read the body of `POST /v1/chat/completions`. Raises `InvalidRequest`."""
    fields, unknown = convert_body(body, _Body)
    foreign = _refuse_unsupported(fields)
    tools, choice = _read_tools(fields, foreign)
    instructions, messages = _split_instructions(read_history(fields.messages, DIALECT))
    request = Request(
        model=fields.model,
        messages=tuple(messages),
        instructions=instructions,
        tools=tuple(tools),
        options=_read_options(fields, choice),
    )
    is_own = has_envelope(fields.messages)
    return ChatRequest(
        request=request,
        is_stream=bool(fields.stream),
        dialect=None if is_own else DIALECT,
        body={} if is_own else body,
        same_grammar_only=next(iter(foreign), None),
        unknown=unknown,
        include_usage=bool((fields.stream_options or {}).get("include_usage")),
    )


def _refuse_unsupported(fields: _Body) -> list[InvalidRequest]:
    """Return why other grammars cannot take the request. Raises `InvalidRequest` for what cannot
    be passed on either."""
    if fields.audio is not None or "audio" in (fields.modalities or ()):
        raise refuse("audio" if fields.audio else "modalities", "answers are not spoken")
    if fields.n is not None and fields.n != 1:
        return [refuse("n", "there is one answer to a request")]
    return []


def _split_instructions(messages: list[Message]) -> tuple[str | None, list[Message]]:
    """Return the instructions that the conversation begins with, and the rest of it."""
    texts: list[str] = []
    for at, message in enumerate(messages):
        is_text = all(isinstance(entry, TextContent) for entry in message.content)
        if message.role not in ("system", "developer") or not is_text:
            return "\n\n".join(texts) or None, messages[at:]
        texts.append(message.text)
    return None, messages


# --- tools ------------------------------------------------------------------------


def _read_tools(fields: _Body, foreign: list[InvalidRequest]) -> tuple[list[ToolSpec], str | None]:
    """Return the tools and the choice among them. Adds to `foreign` why other grammars do not have
    some of them."""
    tools: list[ToolSpec] = []
    for at, tool in enumerate(fields.tools or ()):
        kind, param = tool.get("type", "function"), f"tools[{at}]"
        if kind == "function":
            tools.append(_read_function(as_object(tool.get("function")), f"{param}.function"))
        else:
            foreign.append(refuse(param, f"tools of type {kind!r:.40} are not known"))
    for at, function in enumerate(fields.functions or ()):
        tools.append(_read_function(function, f"functions[{at}]"))
    choice = fields.function_call if fields.tool_choice is None else fields.tool_choice
    if choice is None or isinstance(choice, str):
        return tools, choice
    if choice.get("type") == "allowed_tools":
        allowed = as_object(choice.get("allowed_tools"))
        names = [
            as_object(tool.get("function")).get("name") for tool in as_objects(allowed.get("tools"))
        ]
        return [tool for tool in tools if tool.name in names], as_text(allowed.get("mode"))
    if choice.get("type") == "custom":
        foreign.append(refuse("tool_choice", "custom tools are not known"))
        return tools, None
    name = as_object(choice.get("function")).get("name") or choice.get("name")
    if not isinstance(name, str):
        raise InvalidRequest("tool_choice must name a function", "tool_choice")
    return tools, name


def _read_function(function: JSONObject, param: str) -> ToolSpec:
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{param} needs a name", f"{param}.name")
    parameters = as_object(function.get("parameters"))
    return ToolSpec(
        name=name,
        description=as_text(function.get("description")) or "",
        parameters=parameters or {"type": "object", "properties": {}},
        is_strict=bool(function.get("strict")),
    )


# --- options ----------------------------------------------------------------------


def _read_options(fields: _Body, choice: str | None) -> Options:
    stop = [fields.stop] if isinstance(fields.stop, str) else fields.stop or ()
    tier = fields.service_tier
    return Options(
        max_tokens=_first(fields.max_completion_tokens, fields.max_tokens),
        temperature=fields.temperature,
        top_p=fields.top_p,
        top_k=fields.top_k,
        stop=tuple(stop),
        seed=fields.seed,
        # Some clients send what is the default, also to providers that do not have the option.
        frequency_penalty=fields.frequency_penalty or None,
        presence_penalty=fields.presence_penalty or None,
        logit_bias=fields.logit_bias or None,
        logprobs=fields.logprobs or None,
        top_logprobs=fields.top_logprobs,
        verbosity=fields.verbosity,
        user=fields.safety_identifier or fields.user,
        service_tier=None if tier in ("auto", "default") else tier,
        prompt_cache_key=fields.prompt_cache_key,
        cache="24h" if fields.prompt_cache_retention == "24h" else None,
        modalities=() if fields.modalities == ["text"] else tuple(fields.modalities or ()),
        tool_choice=choice,
        parallel_calls=fields.parallel_tool_calls,
        effort=_read_effort(fields),
        output=_read_output(fields.response_format),
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _read_effort(fields: _Body) -> Effort | None:
    """Return how hard to think, from the field of whichever provider it is in."""
    if fields.reasoning_effort is not None:
        return read_effort(fields.reasoning_effort, "reasoning_effort")
    asked = fields.reasoning or {}
    if asked.get("effort") is not None:
        return read_effort(asked["effort"], "reasoning.effort")
    switch = fields.thinking or {}
    template = fields.chat_template_kwargs or {}
    if switch.get("type") == "disabled":
        return "none"
    is_on = _first(asked.get("enabled"), fields.enable_thinking, template.get("enable_thinking"))
    if is_on is False:
        return "none"
    budget = as_int(asked.get("max_tokens")) or as_int(switch.get("budget_tokens"))
    if budget:
        return find_effort(budget)
    return _DEFAULT_EFFORT if is_on or switch.get("type") == "enabled" else None


def _read_output(asked: JSONObject | None) -> OutputSchema | None:
    match (asked or {}).get("type", "text"):
        case "text":
            return None
        case "json_object":
            return OutputSchema(schema={"type": "object"}, name="json_object", is_strict=False)
        case "json_schema":
            told = as_object((asked or {}).get("json_schema"))
            schema = as_object(told.get("schema"))
            if not schema:
                raise InvalidRequest(
                    "response_format.json_schema needs a schema", "response_format"
                )
            return OutputSchema(
                schema=schema,
                name=as_text(told.get("name")) or "answer",
                is_strict=bool(told.get("strict")),
            )
        case kind:
            raise refuse("response_format", f"the type {kind!r:.40} is not known")

"""Reads the body of `POST /v1/responses`."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.encoders import Options, OutputSchema, Request
from headrace.events import JSONObject
from headrace.messages import CallResult
from headrace.projections.openai_responses import DEFAULT_FIELDS
from headrace.readers.incoming import IncomingRequest, InvalidRequest
from headrace.readers.openai_responses.input_items import Approval, InputReader
from headrace.readers.openai_responses.tools import read_tool_choice, read_tools
from headrace.wire.json.value import as_list, as_object, as_objects

ENCRYPTED_REASONING = "reasoning.encrypted_content"
SECRET_FIELDS = frozenset({"authorization", "headers"})
"""Fields of tools that are neither repeated in a response nor stored."""
# Fields of the body that are options under another name.
_OPTIONS = {
    "max_output_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "parallel_tool_calls": "parallel_calls",
    "service_tier": "service_tier",
    "prompt_cache_key": "prompt_cache_key",
    "safety_identifier": "user",
    "user": "user",
    "top_logprobs": "top_logprobs",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
# Fields that change the answer in a way that is not offered.
_REFUSED = {
    "conversation": "conversations have no items here: use previous_response_id",
    "prompt": "prompts are not stored here: send instructions and input",
    "moderation": "there is no moderation",
    "modalities": "only text is written",
    "audio": "only text is written",
}
_READ = frozenset(
    "model input instructions tools tool_choice text reasoning include store background"
    " previous_response_id metadata stream stream_options truncation max_tool_calls"
    " prompt_cache_retention context_management type generate".split()
)
# What a client may send although it means nothing, such as the default of another API.
_HARMLESS: tuple[Any, ...] = (None, 0, 0.0, False, [], {}, "")


class ResponsesRequest(IncomingRequest, frozen=True, kw_only=True):
    """The request of a client of the Responses API."""

    is_stored: bool = True
    is_background: bool = False
    previous_response_id: str | None = None
    includes_seals: bool = False
    """Whether encrypted reasoning is to be sent."""
    results: tuple[CallResult, ...] = ()
    """Results of calls of the response before."""
    approvals: tuple[Approval, ...] = ()
    """Answers to what the response before has asked."""
    items: tuple[JSONObject, ...] = ()
    """The input as items."""
    provider_tools: tuple[JSONObject, ...] = ()
    """The tools that the provider runs, as they came."""
    echo: JSONObject = {}
    """Fields of the request that the response repeats."""


def read_request(body: JSONObject) -> ResponsesRequest:
    """Read a request. Raises `InvalidRequest`."""
    for name, why in _REFUSED.items():
        if body.get(name) not in _HARMLESS:
            raise InvalidRequest(f"{name} is not supported: {why}", name)
    model = _get(body, "model", str, "")
    if not model:
        raise InvalidRequest("the request needs a model", "model")
    items = read_items(body)
    reader = InputReader()
    for at, item in enumerate(items):
        reader.feed(item, f"input[{at}]")
    reader.close()
    previous = _get(body, "previous_response_id", str, None)
    if reader.results and previous is None:
        call_id = reader.results[0].call_id
        raise InvalidRequest(f"No tool call found for function call output {call_id!r}.", "input")
    found = read_tools(body.get("tools") or [])
    wanted = body.get("tool_choice")
    # The choice may be a tool that other grammars do not have.
    is_foreign = bool(found.foreign) and isinstance(wanted, dict)
    choice, tools = read_tool_choice(None if is_foreign else wanted, found.client)
    request = Request(
        model=model,
        messages=tuple(reader.messages),
        instructions=_get(body, "instructions", str, None) or None,
        tools=tools,
        provider_tools=found.provider,
        options=_read_options(body, choice),
    )
    return ResponsesRequest(
        request=request,
        is_stream=_get(body, "stream", bool, False),
        is_stored=_get(body, "store", bool, True),
        is_background=_get(body, "background", bool, False),
        previous_response_id=previous,
        includes_seals=ENCRYPTED_REASONING in as_list(body.get("include")),
        results=tuple(reader.results),
        approvals=tuple(reader.approvals),
        items=tuple(items),
        provider_tools=found.provider_bodies,
        echo=_collect_echo(body),
        body=body,
        same_grammar_only=next(iter(found.foreign), None),
        unknown={k: v for k, v in body.items() if k not in _READ and k not in _OPTIONS},
    )


def read_items(body: JSONObject) -> list[JSONObject]:
    """Return the input as items. Raises `InvalidRequest`."""
    value: Any = body.get("input")
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if value is None and body.get("previous_response_id"):
        return []
    if not isinstance(value, list):
        raise InvalidRequest("input must be a text or a list of items", "input")
    items = as_objects(value)  # pyright: ignore[reportUnknownArgumentType]
    if len(items) != len(value):  # pyright: ignore[reportUnknownArgumentType]
        raise InvalidRequest("an item must be an object", "input")
    return items


def _get(body: JSONObject, name: str, kind: type, default: Any) -> Any:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise InvalidRequest(f"{name} must be a {kind.__name__}", name)
    return value


def _read_options(body: JSONObject, choice: str | None) -> Options:
    fields: JSONObject = {"tool_choice": choice}
    for name, option in _OPTIONS.items():
        value = body.get(name)
        # Clients repeat the defaults of the API, which some providers refuse.
        if value is not None and not (name in DEFAULT_FIELDS and value == DEFAULT_FIELDS[name]):
            fields[option] = value
    fields["effort"] = as_object(body.get("reasoning")).get("effort")
    text = as_object(body.get("text"))
    fields["verbosity"] = text.get("verbosity")
    if body.get("prompt_cache_retention") == "24h":
        fields["cache"] = "24h"
    for entry in as_list(body.get("context_management")):
        fields["compact_at"] = as_object(entry).get("compact_threshold")
    output = _read_format(as_object(text.get("format")))
    try:
        options = msgspec.convert({k: v for k, v in fields.items() if v is not None}, Options)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"an option has a wrong value: {error}") from None
    return options if output is None else msgspec.structs.replace(options, output=output)


def _read_format(format: JSONObject) -> OutputSchema | None:
    match format.get("type", "text"):
        case "text":
            return None
        case "json_object":
            return OutputSchema(schema={"type": "object"}, name="json", is_strict=False)
        case "json_schema" if isinstance(format.get("schema"), dict):
            name = format.get("name") or "answer"
            return OutputSchema(
                schema=format["schema"], name=name, is_strict=bool(format.get("strict"))
            )
        case kind:
            raise InvalidRequest(f"there is no text format {kind!r:.60}", "text.format")


def _collect_echo(body: JSONObject) -> JSONObject:
    echo = {name: body[name] for name in DEFAULT_FIELDS if body.get(name) is not None}
    if "tools" in echo:
        echo["tools"] = [_complete_tool(as_object(tool)) for tool in as_list(echo["tools"])]
    if "reasoning" in echo:
        echo["reasoning"] = {"effort": None, "summary": None} | as_object(echo["reasoning"])
    if "text" in echo:
        echo["text"] = {"format": {"type": "text"}} | as_object(echo["text"])
    return echo | {"model": body["model"]}


def _complete_tool(tool: JSONObject) -> JSONObject:
    """Return a tool with the fields that a response must repeat."""
    if tool.get("type") != "function":
        return {name: value for name, value in tool.items() if name not in SECRET_FIELDS}
    return {"description": None, "parameters": None, "strict": None} | tool

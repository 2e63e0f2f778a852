"""Rewrites request bodies of other dialects in the shape of chat requests, as far as the scripted
model reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace.wire.json.payload import encode_json
from headrace.wire.json.value import as_object, as_objects, as_text

JSONObject: TypeAlias = dict[str, Any]


def convert_to_chat(body: JSONObject, dialect: str) -> JSONObject:
    """Return the body with `messages` and `tools` as chat requests have them."""
    convert = _CONVERTERS.get(dialect)
    return body if convert is None else {"model": body.get("model"), **convert(body)}


def _create_call(call_id: object, name: object) -> JSONObject:
    return {"id": as_text(call_id) or "", "function": {"name": name}}


def _create_result(call_id: object, name: object, text: str) -> JSONObject:
    return {"role": "tool", "tool_call_id": call_id, "tool_name": name, "content": text}


def _create_tool(tool: JSONObject, schema: object) -> JSONObject:
    return {"function": {**tool, "parameters": schema}}


def _create_message(
    role: object, texts: list[str | None], calls: list[JSONObject], results: list[JSONObject]
) -> list[JSONObject]:
    """Return the results of a message, and the message unless it holds nothing else."""
    text = "\n".join(filter(None, texts))
    message = {"role": role, "content": text, "tool_calls": calls}
    return [*results, message] if text or calls or not results else results


# --- Gemini


def _convert_gemini(body: JSONObject) -> JSONObject:
    system = as_objects(as_object(body.get("systemInstruction")).get("parts"))
    messages = [{"role": "system", "content": [part.get("text") for part in system]}]
    for content in as_objects(body.get("contents")):
        messages += _convert_content(content)
    groups = [
        as_objects(tool.get("functionDeclarations")) for tool in as_objects(body.get("tools"))
    ]
    tools = [
        _create_tool(tool, tool.get("parametersJsonSchema") or tool.get("parameters"))
        for group in groups
        for tool in group
    ]
    return {"messages": messages, "tools": tools}


def _convert_content(content: JSONObject) -> list[JSONObject]:
    parts = as_objects(content.get("parts"))
    texts = [as_text(part.get("text")) for part in parts if not part.get("thought")]
    called = [as_object(part["functionCall"]) for part in parts if "functionCall" in part]
    answered = [as_object(part["functionResponse"]) for part in parts if "functionResponse" in part]
    role = "assistant" if content.get("role") == "model" else "user"
    calls = [_create_call(call.get("id"), call.get("name")) for call in called]
    results = [
        _create_result(entry.get("id"), entry.get("name"), _join_values(entry.get("response")))
        for entry in answered
    ]
    return _create_message(role, texts, calls, results)


def _join_values(response: object) -> str:
    """Return the texts of a function's response, and other values as JSON."""
    values = as_object(response).values()
    return "\n".join(value if isinstance(value, str) else encode_json(value) for value in values)


# --- Bedrock


def _convert_bedrock(body: JSONObject) -> JSONObject:
    system = [entry.get("text") for entry in as_objects(body.get("system"))]
    messages: list[JSONObject] = [{"role": "system", "content": system}]
    for message in as_objects(body.get("messages")):
        messages += _convert_blocks(message)
    specs = as_objects(as_object(body.get("toolConfig")).get("tools"))
    tools = [as_object(entry.get("toolSpec")) for entry in specs]
    schemas = [as_object(tool.get("inputSchema")).get("json") for tool in tools]
    pairs = zip(tools, schemas, strict=True)
    return {"messages": messages, "tools": [_create_tool(*pair) for pair in pairs if pair[0]]}


def _convert_blocks(message: JSONObject) -> list[JSONObject]:
    blocks = as_objects(message.get("content"))
    texts = [as_text(block.get("text")) for block in blocks]
    called = [as_object(block["toolUse"]) for block in blocks if "toolUse" in block]
    answered = [as_object(block["toolResult"]) for block in blocks if "toolResult" in block]
    calls = [_create_call(call.get("toolUseId"), call.get("name")) for call in called]
    results = [
        _create_result(entry.get("toolUseId"), None, _join_contents(entry.get("content")))
        for entry in answered
    ]
    return _create_message(message.get("role"), texts, calls, results)


def _join_contents(content: object) -> str:
    entries = as_objects(content)
    texts = [as_text(entry.get("text")) or encode_json(entry.get("json")) for entry in entries]
    return "\n".join(texts)


# --- xAI


def _convert_xai(body: JSONObject) -> JSONObject:
    messages = [
        {**message, "role": str(message.get("role")).removeprefix("ROLE_").lower()}
        for message in as_objects(body.get("messages"))
    ]
    functions = [as_object(tool.get("function")) for tool in as_objects(body.get("tools"))]
    tools = [
        _create_tool(tool, _parse_schema(tool.get("parameters"))) for tool in functions if tool
    ]
    return {"messages": messages, "tools": tools}


def _parse_schema(text: object) -> JSONObject:
    """Parse a schema that is written as text."""
    try:
        return as_object(msgspec.json.decode(as_text(text) or "{}"))
    except msgspec.DecodeError:
        return {}


# --- Interactions


def _convert_interactions(body: JSONObject) -> JSONObject:
    messages: list[JSONObject] = [{"role": "system", "content": body.get("system_instruction")}]
    for step in as_objects(body.get("input")):
        _convert_step(step, messages)
    tools = [_create_tool(tool, tool.get("parameters")) for tool in as_objects(body.get("tools"))]
    return {"messages": messages, "tools": tools}


def _convert_step(step: JSONObject, messages: list[JSONObject]) -> None:
    """Add a step. The outputs and calls of one reply are one message."""
    match step.get("type"):
        case "user_input":
            messages.append({"role": "user", "content": step.get("content")})
        case "function_result":
            result = step.get("result")
            text = result if isinstance(result, str) else _join_contents(result)
            messages.append(_create_result(step.get("call_id"), step.get("name"), text))
        case "model_output" | "function_call" as kind:
            if messages[-1].get("role") != "assistant":
                messages.append({"role": "assistant", "content": [], "tool_calls": []})
            if kind == "function_call":
                call = _create_call(step.get("id"), step.get("name"))
                messages[-1]["tool_calls"].append(call)
            else:
                messages[-1]["content"] += as_objects(step.get("content"))
        case _:
            pass


_CONVERTERS: dict[str, Callable[[JSONObject], JSONObject]] = {
    "gemini": _convert_gemini,
    "bedrock": _convert_bedrock,
    "xai": _convert_xai,
    "interactions": _convert_interactions,
}

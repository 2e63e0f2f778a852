"""The routes of other projects' protocols in the OpenAPI document.

The requests are those of the projects' own types, of which only the required fields are described.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from headrace.projections.registry import find_protocol

Schema: TypeAlias = dict[str, Any]

_STRING: Schema = {"type": "string"}
_TEXT: Schema = {"text/plain": {"schema": _STRING}}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 500}
_OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
_STREAM: Schema = {
    "text/event-stream": {
        "schema": {
            "description": "server-sent events, each with one chunk or event of the protocol",
            "properties": {"data": _STRING},
            "required": ["data"],
        }
    }
}
_AI_SDK_BODY: Schema = {
    "type": "object",
    "properties": {
        "id": _NAME,
        "messages": {**_OBJECTS, "minItems": 1},
        "trigger": {"enum": ["submit-message", "regenerate-message"]},
        "messageId": _STRING,
        "model": _STRING,
        "effort": _STRING,
    },
    "required": ["id", "messages"],
}
_AG_UI_BODY: Schema = {
    "type": "object",
    "properties": {
        "threadId": _NAME,
        "runId": _NAME,
        "messages": _OBJECTS,
        "tools": _OBJECTS,
        "context": _OBJECTS,
        "resume": _OBJECTS,
        "forwardedProps": {},
        "state": {},
    },
    "required": ["threadId", "runId", "messages"],
}
_AG_UI_ERROR: Schema = {
    "type": "object",
    "properties": {"type": {"const": "RUN_ERROR"}, "message": _STRING, "code": _STRING},
    "required": ["type", "message", "code"],
}
_STOPPED: Schema = {
    "type": "object",
    "properties": {"was_live": {"type": "boolean"}},
    "required": ["was_live"],
}
_MESSAGES: Schema = {
    "type": "object",
    "properties": {"id": _STRING, "messages": _OBJECTS},
    "required": ["id", "messages"],
}


_OBJECT: Schema = {"type": "object"}
_ASKED: Schema = {
    "type": "object",
    "properties": {
        "model": _STRING,
        "messages": {"type": "array", "items": _OBJECT},
        "stream": {"type": "boolean"},
    },
    "required": ["model", "messages"],
}
_OPENAI_ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": _STRING,
                "type": _STRING,
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_ANTHROPIC_ERROR: Schema = {
    "type": "object",
    "properties": {
        "type": {"const": "error"},
        "error": {"type": "object", "properties": {"type": _STRING, "message": _STRING}},
        "request_id": _STRING,
    },
}


def door_paths() -> Schema:
    """Return the paths of other projects' protocols, but for the Responses API."""
    chat_id: Schema = {"name": "chat_id", "in": "path", "required": True, "schema": _STRING}
    stream = _operation("Resume the stream of an answer that is being written", _STREAM, _TEXT)
    stream["responses"]["204"] = {"description": "no answer is being written"}
    stop = _operation("Stop the answer that is being written", _json(_STOPPED), _TEXT)
    listed = _operation("List the messages of a chat", _json(_MESSAGES), _TEXT)
    chat = "/api/ai-sdk/chat"
    model = {
        "name": "model",
        "in": "query",
        "description": "name of one of the server's models",
        "schema": _STRING,
    }
    stop_run = _operation("Stop the run of a thread", _json(_STOPPED), _json(_AG_UI_ERROR))
    thread_id = {**chat_id, "name": "thread_id"}
    run = _operation("Run an agent for an AG-UI client", _STREAM, _json(_AG_UI_ERROR), _AG_UI_BODY)
    return {
        chat: {"post": _operation("Send a chat of the AI SDK", _STREAM, _TEXT, _AI_SDK_BODY)},
        f"{chat}/{{chat_id}}/stream": {"get": {**stream, "parameters": [chat_id]}},
        f"{chat}/{{chat_id}}/stop": {"post": {**stop, "parameters": [chat_id]}},
        f"{chat}/{{chat_id}}/messages": {"get": {**listed, "parameters": [chat_id]}},
        "/api/ag-ui": {"post": {**run, "parameters": [model]}},
        "/api/ag-ui/{thread_id}/stop": {"post": {**stop_run, "parameters": [thread_id]}},
        **_sdk_paths(),
    }


def _sdk_paths() -> Schema:
    """Return the paths for the SDKs of OpenAI and Anthropic, which document their bodies."""
    openai, anthropic = _json(_OPENAI_ERROR), _json(_ANTHROPIC_ERROR)
    answer = {**_json(_OBJECT), **_STREAM}
    complete = _operation("Answer as OpenAI's Chat Completions API", answer, openai, _ASKED)
    complete["parameters"] = [
        {
            "name": option.name,
            "in": "query",
            "description": option.description,
            "schema": option.schema,
        }
        for option in find_protocol("openai-chat").options
    ]
    create = _operation("Answer as Anthropic's Messages API", answer, anthropic, _ASKED)
    counted = _json({"type": "object", "properties": {"input_tokens": {"type": "integer"}}})
    count = _operation("Count the tokens of a request", counted, anthropic, _ASKED)
    name: Schema = {"name": "name", "in": "path", "required": True, "schema": _STRING}
    show = _operation("Describe a model", _json(_OBJECT), openai)
    return {
        "/v1/models": {"get": _operation("List the models", _json(_OBJECT), openai)},
        "/v1/models/{name}": {"get": {**show, "parameters": [name]}},
        "/v1/chat/completions": {"post": complete},
        "/v1/messages": {"post": create},
        "/v1/messages/count_tokens": {"post": count},
    }


def _operation(summary: str, content: Schema, error: Schema, body: Schema | None = None) -> Schema:
    operation: Schema = {
        "summary": summary,
        "parameters": [],
        "responses": {
            "200": {"description": "success", "content": content},
            "4XX": {"description": "what is wrong with the request", "content": error},
            "5XX": {
                "description": "an error of the server, or when to try again",
                "content": error,
            },
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    return operation


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}

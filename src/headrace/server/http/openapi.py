"""The OpenAPI document of the HTTP API. A test compares it with the routes."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from headrace.projections.registry import DEFAULT_PROTOCOL, PROTOCOLS, find_protocol
from headrace.server import api
from headrace.server.http.doors.openapi_paths import door_paths
from headrace.server.storage.files import FileInfo
from headrace.server.storage.files.file_type import IMAGES
from headrace.server.storage.store import Conversation

Schema: TypeAlias = dict[str, Any]

_STRING: Schema = {"type": "string"}
_STRUCTS = (
    api.ChatRequest,
    api.ConversationUpdate,
    api.InputAnswer,
    api.InputAnswerResult,
    api.InputRequestList,
    api.WaitingRunList,
    FileInfo,
    Conversation,
    api.ConversationPage,
    api.ConversationDetail,
    api.ConversationExport,
    api.ModelList,
    api.CancelResult,
    api.ErrorResponse,
)


def openapi(version: str, prefix: str = "") -> Schema:
    """Return the OpenAPI document.

    `prefix` is the path under which the application is mounted, or under which a proxy serves it.
    """
    schemas, components = msgspec.json.schema_components(
        _STRUCTS, ref_template="#/components/schemas/{name}"
    )
    names = {kind.__name__: schema for kind, schema in zip(_STRUCTS, schemas, strict=True)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headrace", "version": version},
        "servers": [{"url": prefix or "/"}],
        "paths": _paths(names),
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _paths(schemas: Schema) -> Schema:

    def json(name: str) -> Schema:
        return _json(schemas[name])

    return {
        **_chat_paths(schemas),
        **_request_paths(schemas),
        **_file_paths(schemas),
        **_responses_paths(),
        **_conversation_paths(schemas),
        "/api/models": {"get": _operation("List the models", json("ModelList"), [])},
        **door_paths(),
    }


def _conversation_paths(schemas: Schema) -> Schema:
    conversation_id = _path("conversation_id")
    conversation = "/api/conversations/{conversation_id}"
    search = [
        _query("q", "words of a title, a question or an answer"),
        _query("before", "`next` of the previous page; not together with q"),
        _query("limit", f"most conversations to return, 1 to {api.MAX_PAGE}"),
    ]
    page = [
        _query("before", "`earlier` of another page: the messages in front of it"),
        _query("limit", f"most messages to return, 1 to {api.MAX_PAGE}"),
    ]
    markdown = {"text/markdown": {"schema": _STRING}}
    delete = _operation("Delete", {}, [conversation_id])
    delete["responses"] = {"204": {"description": "deleted"}, **_errors()}

    def json(name: str) -> Schema:
        return _json(schemas[name])

    return {
        "/api/conversations": {
            "get": _operation("List or search", json("ConversationPage"), search)
        },
        conversation: {
            "get": _operation("Read", json("ConversationDetail"), [conversation_id, *page]),
            "patch": _operation(
                "Change", json("Conversation"), [conversation_id], json("ConversationUpdate")
            ),
            "delete": delete,
        },
        f"{conversation}/export": {
            "get": _operation(
                "Export",
                {**json("ConversationExport"), **markdown},
                [conversation_id, _query("format", "json or markdown")],
            )
        },
    }


def _chat_paths(schemas: Schema) -> Schema:
    key = {"minLength": 1, "maxLength": api.MAX_KEY_CHARS}
    event_id = _path("event_id")
    return {
        "/api/chat": {
            "post": _operation(
                "Ask, and stream the answer",
                _event_stream(),
                [*_view(), _header("Idempotency-Key", **key)],
                _json(schemas["ChatRequest"]),
            )
        },
        "/api/chat/{event_id}/stream": {
            "get": _operation(
                "Resume a stream after the last frame received",
                _event_stream(),
                [event_id, *_view(), _header("Last-Event-ID")],
            )
        },
        "/api/chat/{event_id}/cancel": {
            "post": _operation("Cancel a run", _json(schemas["CancelResult"]), [event_id])
        },
    }


def _file_paths(schemas: Schema) -> Schema:
    data = {"application/octet-stream": {"schema": {**_STRING, "format": "binary"}}}
    media = dict.fromkeys(sorted(IMAGES), data["application/octet-stream"])
    place = [_path("conversation_id"), _path("message_id"), _path("n")]
    delete = _operation("Delete a file that was not sent", {}, [_path("file_id")])
    delete["responses"] = {"204": {"description": "deleted"}, **_errors()}
    return {
        "/api/files": {
            "post": _operation(
                "Upload a file for a message",
                _json(schemas["FileInfo"]),
                [_header("X-File-Name")],
                data,
            )
        },
        "/api/files/{file_id}": {"delete": delete},
        "/api/conversations/{conversation_id}/messages/{message_id}/attachments/{n}": {
            "get": _operation("Read an attachment of a message", {**data, **media}, place)
        },
    }


def _request_paths(schemas: Schema) -> Schema:
    run_id, request_id = _path("run_id"), _path("request_id")
    return {
        "/api/requests": {
            "get": _operation("List what all runs wait for", _json(schemas["WaitingRunList"]), [])
        },
        "/api/runs/{run_id}/requests": {
            "get": _operation(
                "List what a run waits for", _json(schemas["InputRequestList"]), [run_id]
            )
        },
        "/api/runs/{run_id}/requests/{request_id}": {
            "post": _operation(
                "Answer a request",
                _json(schemas["InputAnswerResult"]),
                [run_id, request_id],
                _json(schemas["InputAnswer"]),
            )
        },
    }


def _responses_paths() -> Schema:
    """Return the routes of the Responses API, whose bodies OpenAI documents."""
    response_id, thing = _path("response_id"), _json({"type": "object"})
    stream = {**thing, **_event_stream()}
    options = [
        {**_query(option.name, option.description), "schema": option.schema}
        for option in find_protocol("openai-responses").options
    ]
    resume = [
        _query("stream", "true to stream the events"),
        _query("starting_after", "number of the event after which the stream begins"),
    ]
    page = [
        _query("order", "asc or desc"),
        _query("limit", "most items to return"),
        _query("after", "id of the item after which the page begins"),
    ]
    one = "/v1/responses/{response_id}"
    paths = {
        "/v1/responses": {
            "post": _operation("Answer, as OpenAI's Responses API", stream, options, thing)
        },
        "/v1/responses/compact": {"post": _operation("Compact a conversation", thing, [], thing)},
        one: {
            "get": _operation("Read a response", stream, [response_id, *resume, *options]),
            "delete": _operation("Delete a response", thing, [response_id]),
        },
        f"{one}/cancel": {"post": _operation("Cancel a response", thing, [response_id])},
        f"{one}/input_items": {
            "get": _operation("List the input of a response", thing, [response_id, *page])
        },
    }
    for verbs in paths.values():
        for operation in verbs.values():
            operation["responses"] |= _openai_errors()
    return paths


def _openai_errors() -> Schema:
    """Return the errors in the shape of OpenAI's API."""
    nullable: Schema = {"type": ["string", "null"]}
    fields = {"message": _STRING, "type": _STRING, "param": nullable, "code": nullable}
    content = _json({"type": "object", "properties": {"error": {"properties": fields}}})
    return {
        "4XX": {"description": "what is wrong with the request", "content": content},
        "5XX": {"description": "an error of the server, or when to try again", "content": content},
    }


def _operation(
    summary: str, content: Schema, parameters: list[Schema], body: Schema | None = None
) -> Schema:
    operation: Schema = {
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": {"description": "success", "content": content}, **_errors()},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _errors() -> Schema:
    content = _json({"$ref": "#/components/schemas/ErrorResponse"})
    return {
        "4XX": {"description": "what is wrong with the request", "content": content},
        "5XX": {"description": "an error of the server, or when to try again", "content": content},
    }


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _event_stream() -> Schema:
    event = {
        "description": "server-sent events, each with the id to resume from and one frame",
        "properties": {"id": {"type": "string", "pattern": r"^\d+\.\d+(-\w+)?$"}, "data": _STRING},
        "required": ["id", "data"],
    }
    return {"text/event-stream": {"schema": event}}


def _path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": _STRING}


def _query(name: str, description: str, **schema: Any) -> Schema:
    place = {"name": name, "in": "query", "description": description}
    return {**place, "schema": {**_STRING, **schema}}


def _view() -> list[Schema]:
    """Return the parameters that say how a run is read: the protocol, and its options."""
    rows = "; ".join(f"{row.name}: {row.description}" for row in PROTOCOLS.values())
    options = [
        {**_query(option.name, f"{row.name}: {option.description}"), "schema": option.schema}
        for row in PROTOCOLS.values()
        for option in row.options
    ]
    return [_query("protocol", rows, enum=list(PROTOCOLS), default=DEFAULT_PROTOCOL), *options]


def _header(name: str, **schema: Any) -> Schema:
    return {"name": name, "in": "header", "schema": {**_STRING, **schema}}

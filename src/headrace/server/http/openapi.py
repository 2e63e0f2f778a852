"""The OpenAPI document of the HTTP API. A test compares it with the routes."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from headrace.projections.registry import DEFAULT_PROTOCOL, PROTOCOLS
from headrace.server.api import (
    MAX_KEY_CHARS,
    MAX_PAGE,
    CancelResult,
    ChatRequest,
    ConversationDetail,
    ConversationExport,
    ConversationPage,
    ConversationUpdate,
    ErrorResponse,
    ModelList,
)
from headrace.server.storage.store import Conversation

Schema: TypeAlias = dict[str, Any]

_STRING: Schema = {"type": "string"}
_STRUCTS = (
    ChatRequest,
    ConversationUpdate,
    Conversation,
    ConversationPage,
    ConversationDetail,
    ConversationExport,
    ModelList,
    CancelResult,
    ErrorResponse,
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
        "paths": {**_chat_paths(names), **_conversation_paths(names), **_model_paths(names)},
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _chat_paths(schemas: Schema) -> Schema:
    event_id = _path("event_id")
    key = {"minLength": 1, "maxLength": MAX_KEY_CHARS}
    return {
        "/api/chat": {
            "post": _operation(
                "Ask, and stream the answer",
                _event_stream(),
                body=schemas["ChatRequest"],
                parameters=[_protocol(), _header("Idempotency-Key", key)],
            )
        },
        "/api/chat/{event_id}/stream": {
            "get": _operation(
                "Resume a stream after the last frame received",
                _event_stream(),
                parameters=[event_id, _protocol(), _header("Last-Event-ID")],
            )
        },
        "/api/chat/{event_id}/cancel": {
            "post": _operation(
                "Cancel a run", _json(schemas["CancelResult"]), parameters=[event_id]
            )
        },
    }


def _conversation_paths(schemas: Schema) -> Schema:
    path, id_ = "/api/conversations/{conversation_id}", _path("conversation_id")
    update, conversation = schemas["ConversationUpdate"], schemas["Conversation"]
    export = {**_json(schemas["ConversationExport"]), "text/markdown": {"schema": _STRING}}
    found = [
        _query("q", "words of a title, a question or an answer"),
        _query("before", "`next` of the previous page; not together with q"),
        _query("limit", f"most conversations to return, 1 to {MAX_PAGE}"),
    ]
    delete = _operation("Delete", {}, parameters=[id_])
    delete["responses"] = {"204": {"description": "deleted"}, **_errors()}
    return {
        "/api/conversations": {
            "get": _operation(
                "List or search", _json(schemas["ConversationPage"]), parameters=found
            )
        },
        path: {
            "get": _operation("Read", _json(schemas["ConversationDetail"]), parameters=[id_]),
            "patch": _operation("Change", _json(conversation), body=update, parameters=[id_]),
            "delete": delete,
        },
        f"{path}/export": {
            "get": _operation(
                "Export", export, parameters=[id_, _query("format", "json or markdown")]
            )
        },
    }


def _model_paths(schemas: Schema) -> Schema:
    return {"/api/models": {"get": _operation("List the models", _json(schemas["ModelList"]))}}


def _operation(
    summary: str,
    content: Schema,
    *,
    body: Schema | None = None,
    parameters: list[Schema] | None = None,
) -> Schema:
    operation: Schema = {
        "summary": summary,
        "parameters": parameters or [],
        "responses": {"200": {"description": "success", "content": content}, **_errors()},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
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
        "properties": {"id": {"type": "string", "pattern": r"^\d+\.\d+$"}, "data": _STRING},
        "required": ["id", "data"],
    }
    return {"text/event-stream": {"schema": event}}


def _path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": _STRING}


def _query(name: str, description: str, **schema: Any) -> Schema:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {**_STRING, **schema},
    }


def _protocol() -> Schema:
    rows = "; ".join(f"{row.name}: {row.description}" for row in PROTOCOLS.values())
    return _query("protocol", rows, enum=list(PROTOCOLS), default=DEFAULT_PROTOCOL)


def _header(name: str, schema: Schema | None = None) -> Schema:
    return {"name": name, "in": "header", "schema": {**_STRING, **(schema or {})}}

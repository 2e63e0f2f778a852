"""The OpenAPI document: what each route takes and gives. A test compares it with the routes."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.server.routes.chat import Ask
from headrace.server.routes.conversations import Rename
from headrace.server.store import Conversation

_ID = {"type": "string"}


def openapi(version: str) -> dict[str, Any]:
    """The whole document."""
    (ask, rename, conversation), components = msgspec.json.schema_components(
        [Ask, Rename, Conversation], ref_template="#/components/schemas/{name}"
    )
    error = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": dict.fromkeys(("code", "message", "request_id"), _ID),
                "required": ["code", "message", "request_id"],
            }
        },
        "required": ["error"],
    }
    whole = {
        "type": "object",
        "properties": {"conversation": conversation, "messages": {"type": "array"}},
        "required": ["conversation", "messages"],
    }
    found = {
        "type": "object",
        "properties": {"conversations": {"type": "array", "items": conversation}},
        "required": ["conversations"],
    }
    protocol = _query("protocol", "the vocabulary of the frames")
    one = "/api/conversations/{conversation_id}"
    paths = {
        "/api/chat": {"post": _operation("Ask, and watch the answer", _stream(), ask, [protocol])},
        "/api/chat/{event_id}/stream": {
            "get": _operation(
                "Go on behind the last frame seen",
                _stream(),
                None,
                [_path("event_id"), protocol, _header("Last-Event-ID")],
            )
        },
        "/api/chat/{event_id}/cancel": {
            "post": _operation("End the run", _json({"type": "object"}), None, [_path("event_id")])
        },
        "/api/conversations": {
            "get": _operation("List, or search", _json(found), None, [_query("q", "words")])
        },
        one: {
            "get": _operation("Read", _json(whole), None, [_path("conversation_id")]),
            "patch": _operation("Rename", _json(conversation), rename, [_path("conversation_id")]),
            "delete": {
                **_operation("Forget", {}, None, [_path("conversation_id")]),
                "responses": {"204": {"description": "it is gone"}, **_errors()},
            },
        },
        f"{one}/export": {
            "get": _operation(
                "Export",
                _json(whole),
                None,
                [_path("conversation_id"), _query("format", "json or markdown")],
            )
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headrace", "version": version},
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(
    what: str, answer: dict[str, Any], body: dict[str, Any] | None, parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": what,
        "parameters": parameters,
        "responses": {"200": {"description": "as asked", "content": answer}, **_errors()},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    return operation


def _errors() -> dict[str, Any]:
    error = _json({"$ref": "#/components/schemas/Error"})
    return {"4XX": {"description": "what is wrong, and what to do", "content": error}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _stream() -> dict[str, Any]:
    return {"text/event-stream": {"schema": {"type": "string"}}}


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _ID}


def _query(name: str, what: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": what, "schema": _ID}


def _header(name: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": _ID}

"""The OpenAPI document: what each route takes and gives. A test compares it with the routes."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.server.http.routes.chat import MAX_KEY_CHARS, Ask
from headrace.server.http.routes.conversations import Change, LiveEvent, ShownMessage
from headrace.server.http.routes.models import ServedModel
from headrace.server.storage.store import Conversation, StoredMessage

_ID = {"type": "string"}


def openapi(version: str, prefix: str = "") -> dict[str, Any]:
    """The whole document. `prefix` is what stands before each path where the application is
    mounted, or behind a proxy that says so."""
    kinds = [Ask, Change, Conversation, StoredMessage, ShownMessage, LiveEvent, ServedModel]
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    ask, change, conversation, stored, shown, live, model = schemas
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
    exported = _object(conversation=conversation, messages=_list(stored))
    whole = _object(conversation=conversation, messages=_list(shown), live=_list(live))
    found = _object(conversations=_list(conversation), next={"type": ["string", "null"]})
    models = _object(models=_list(model))
    protocol = _query("protocol", "the vocabulary of the frames")
    one = "/api/conversations/{conversation_id}"
    paths = {
        "/api/chat": {
            "post": _operation("Ask, and watch the answer", _stream(), ask, [protocol, _key()])
        },
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
            "get": _operation(
                "List, or search",
                _json(found),
                None,
                [
                    _query("q", "words of a title, a question or an answer"),
                    _query("before", "the next of the page before; not with q"),
                    _query("limit", "so many at most, 1 to 100"),
                ],
            )
        },
        one: {
            "get": _operation("Read", _json(whole), None, [_path("conversation_id")]),
            "patch": _operation("Change", _json(conversation), change, [_path("conversation_id")]),
            "delete": {
                **_operation("Forget", {}, None, [_path("conversation_id")]),
                "responses": {"204": {"description": "it is gone"}, **_errors()},
            },
        },
        "/api/models": {"get": _operation("What there is to ask", _json(models), None, [])},
        f"{one}/export": {
            "get": _operation(
                "Export",
                {**_json(exported), "text/markdown": {"schema": {"type": "string"}}},
                None,
                [_path("conversation_id"), _query("format", "json or markdown")],
            )
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headrace", "version": version},
        "servers": [{"url": prefix or "/"}],
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
    return {
        "4XX": {"description": "what is wrong, and what to do", "content": error},
        "5XX": {"description": "what broke here, or when to come back", "content": error},
    }


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _stream() -> dict[str, Any]:
    event = {
        "description": "server-sent events, each with the id to resume from and one frame",
        "properties": {"id": {"type": "string", "pattern": r"^\d+\.\d+$"}, "data": _ID},
        "required": ["id", "data"],
    }
    return {"text/event-stream": {"schema": event}}


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _ID}


def _query(name: str, what: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": what, "schema": _ID}


def _key() -> dict[str, Any]:
    length = {"minLength": 1, "maxLength": MAX_KEY_CHARS}
    return {"name": "Idempotency-Key", "in": "header", "schema": {**_ID, **length}}


def _header(name: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": _ID}

"""The OpenAPI document of the HTTP API. A test compares it with the routes."""

from __future__ import annotations

import msgspec

from headrace.projections.registry import DEFAULT_PROTOCOL, PROTOCOLS, find_protocol
from headrace.server import api
from headrace.server.accounts import api as account_api
from headrace.server.accounts.cookie import COOKIE
from headrace.server.http.doors.openapi_paths import door_paths
from headrace.server.http.openapi_parts import (
    STRING,
    Schema,
    event_stream,
    header_parameter,
    json_content,
    no_content,
    operation,
    path_parameter,
    query_parameter,
)
from headrace.server.http.routes.account_paths import account_paths
from headrace.server.storage.files import FileInfo
from headrace.server.storage.files.file_type import IMAGES
from headrace.server.storage.store import Conversation

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
    api.RunTimeline,
    api.CancelResult,
    api.ErrorResponse,
    account_api.AccountView,
    account_api.UserSettings,
    account_api.SettingsUpdate,
    account_api.SignInRequest,
    account_api.PasswordChange,
    account_api.SignInList,
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
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
        "security": [{}, {"token": []}, {"cookie": []}],
    }


def _paths(schemas: Schema) -> Schema:

    return {
        **_chat_paths(schemas),
        **_request_paths(schemas),
        **_file_paths(schemas),
        **_responses_paths(),
        **_conversation_paths(schemas),
        "/api/models": {
            "get": operation("List the models", json_content(schemas["ModelList"]), [])
        },
        **account_paths(schemas),
        **door_paths(),
    }


def _conversation_paths(schemas: Schema) -> Schema:
    conversation_id = path_parameter("conversation_id")
    conversation = "/api/conversations/{conversation_id}"
    search = [
        query_parameter("q", "words of a title, a question or an answer"),
        query_parameter("before", "`next` of the previous page; not together with q"),
        query_parameter("limit", f"most conversations to return, 1 to {api.MAX_PAGE}"),
    ]
    page = [
        query_parameter("before", "`earlier` of another page: the messages in front of it"),
        query_parameter("limit", f"most messages to return, 1 to {api.MAX_PAGE}"),
    ]
    markdown = {"text/markdown": {"schema": STRING}}
    delete = no_content("Delete", [conversation_id])

    def json(name: str) -> Schema:
        return json_content(schemas[name])

    return {
        "/api/conversations": {
            "get": operation("List or search", json("ConversationPage"), search)
        },
        conversation: {
            "get": operation("Read", json("ConversationDetail"), [conversation_id, *page]),
            "patch": operation(
                "Change", json("Conversation"), [conversation_id], json("ConversationUpdate")
            ),
            "delete": delete,
        },
        f"{conversation}/export": {
            "get": operation(
                "Export",
                {**json("ConversationExport"), **markdown},
                [conversation_id, query_parameter("format", "json, markdown or markdown-steps")],
            )
        },
    }


def _chat_paths(schemas: Schema) -> Schema:
    key = {"minLength": 1, "maxLength": api.MAX_KEY_CHARS}
    event_id = path_parameter("event_id")
    return {
        "/api/chat": {
            "post": operation(
                "Ask, and stream the answer",
                event_stream(),
                [*_view(), header_parameter("Idempotency-Key", **key)],
                json_content(schemas["ChatRequest"]),
            )
        },
        "/api/chat/{event_id}/stream": {
            "get": operation(
                "Resume a stream after the last frame received",
                event_stream(),
                [event_id, *_view(), header_parameter("Last-Event-ID")],
            )
        },
        "/api/chat/{event_id}/cancel": {
            "post": operation("Cancel a run", json_content(schemas["CancelResult"]), [event_id])
        },
    }


def _file_paths(schemas: Schema) -> Schema:
    data = {"application/octet-stream": {"schema": {**STRING, "format": "binary"}}}
    media = dict.fromkeys(sorted(IMAGES), data["application/octet-stream"])
    place = [path_parameter("conversation_id"), path_parameter("message_id"), path_parameter("n")]
    delete = no_content("Delete a file that was not sent", [path_parameter("file_id")])
    return {
        "/api/files": {
            "post": operation(
                "Upload a file for a message",
                json_content(schemas["FileInfo"]),
                [header_parameter("X-File-Name")],
                data,
            )
        },
        "/api/files/{file_id}": {"delete": delete},
        "/api/conversations/{conversation_id}/messages/{message_id}/attachments/{n}": {
            "get": operation("Read an attachment of a message", {**data, **media}, place)
        },
    }


def _request_paths(schemas: Schema) -> Schema:
    run_id, request_id = path_parameter("run_id"), path_parameter("request_id")
    return {
        "/api/runs/{run_id}/timeline": {
            "get": operation(
                "Read when a run did what", json_content(schemas["RunTimeline"]), [run_id]
            )
        },
        "/api/requests": {
            "get": operation(
                "List what all runs wait for", json_content(schemas["WaitingRunList"]), []
            )
        },
        "/api/runs/{run_id}/requests": {
            "get": operation(
                "List what a run waits for", json_content(schemas["InputRequestList"]), [run_id]
            )
        },
        "/api/runs/{run_id}/requests/{request_id}": {
            "post": operation(
                "Answer a request",
                json_content(schemas["InputAnswerResult"]),
                [run_id, request_id],
                json_content(schemas["InputAnswer"]),
            )
        },
    }


def _responses_paths() -> Schema:
    """Return the routes of the Responses API, whose bodies OpenAI documents."""
    response_id, thing = path_parameter("response_id"), json_content({"type": "object"})
    stream = {**thing, **event_stream()}
    options = [
        {**query_parameter(option.name, option.description), "schema": option.schema}
        for option in find_protocol("openai-responses").options
    ]
    resume = [
        query_parameter("stream", "true to stream the events"),
        query_parameter("starting_after", "number of the event after which the stream begins"),
    ]
    page = [
        query_parameter("order", "asc or desc"),
        query_parameter("limit", "most items to return"),
        query_parameter("after", "id of the item after which the page begins"),
    ]
    one = "/v1/responses/{response_id}"
    paths = {
        "/v1/responses": {
            "post": operation("Answer, as OpenAI's Responses API", stream, options, thing)
        },
        "/v1/responses/compact": {"post": operation("Compact a conversation", thing, [], thing)},
        one: {
            "get": operation("Read a response", stream, [response_id, *resume, *options]),
            "delete": operation("Delete a response", thing, [response_id]),
        },
        f"{one}/cancel": {"post": operation("Cancel a response", thing, [response_id])},
        f"{one}/input_items": {
            "get": operation("List the input of a response", thing, [response_id, *page])
        },
    }
    for verbs in paths.values():
        for described in verbs.values():
            described["responses"] |= _openai_errors()
    return paths


def _openai_errors() -> Schema:
    """Return the errors in the shape of OpenAI's API."""
    nullable: Schema = {"type": ["string", "null"]}
    fields = {"message": STRING, "type": STRING, "param": nullable, "code": nullable}
    content = json_content({"type": "object", "properties": {"error": {"properties": fields}}})
    return {
        "4XX": {"description": "what is wrong with the request", "content": content},
        "5XX": {"description": "an error of the server, or when to try again", "content": content},
    }


def _view() -> list[Schema]:
    """Return the parameters that say how a run is read: the protocol, and its options."""
    rows = "; ".join(f"{row.name}: {row.description}" for row in PROTOCOLS.values())
    options = [
        {
            **query_parameter(option.name, f"{row.name}: {option.description}"),
            "schema": option.schema,
        }
        for row in PROTOCOLS.values()
        for option in row.options
    ]
    return [
        query_parameter("protocol", rows, enum=list(PROTOCOLS), default=DEFAULT_PROTOCOL),
        *options,
    ]

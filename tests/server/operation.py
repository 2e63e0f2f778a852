"""Every route that takes an id, from the OpenAPI document: a new one is in every matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/api/chat"): {"message": "x"},
    ("post", "/api/runs/{run_id}/requests/{request_id}"): {"decision": "denied"},
    ("patch", "/api/conversations/{conversation_id}"): {"title": "mine now"},
    ("patch", "/api/account/settings"): {"theme": "dark"},
    ("post", "/api/account/password"): {"old": "x", "new": "a new password"},
    ("post", "/api/sign-in"): {"user": "nobody", "password": "x"},
    ("post", "/api/ai-sdk/chat"): {
        "id": "c",
        "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "x"}]}],
    },
    ("post", "/api/ag-ui"): {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "u", "role": "user", "content": "x"}],
    },
}
"""What is sent beside the ids."""
CLIENT_NAMES = {"chat_id": "c", "thread_id": "t", "name": "default"}
"""Names that are no secret: ids that clients choose, which belong to one user, and models."""
RUN_IDS = {
    "run_id": "run_x",
    "request_id": "req_x",
    "response_id": "resp_x",
    "file_id": "file_x",
    "message_id": "msg_x",
    "n": "0",
    "sign_in_id": "0123456789abcdef",
}
"""A run, a request, a file, a message and a sign-in that do not exist."""


class Operation(NamedTuple):
    """One verb of one path."""

    verb: str
    path: str
    path_ids: tuple[str, ...]
    body_ids: tuple[str, ...]

    @property
    def body(self) -> dict[str, Any] | None:
        return BODIES.get((self.verb, self.path))

    @property
    def is_changing(self) -> bool:
        return self.verb != "get"


class Sent(NamedTuple):
    """One request."""

    verb: str
    path: str
    body: dict[str, Any] | None


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """All of them."""
    return [
        Operation(verb, path, _path_ids(told), _body_ids(told, document))
        for path, verbs in document["paths"].items()
        for verb, told in verbs.items()
    ]


def requests(
    document: Mapping[str, Any], ids: Mapping[str, str], own: Mapping[str, str]
) -> Iterator[Sent]:
    """Every request that names one of `ids`; its other ids are `own`."""
    for operation in operations(document):
        verb, path, path_ids, body_ids = operation
        if path_ids and not CLIENT_NAMES.keys() & set(path_ids):
            yield Sent(verb, path.format_map(ids), operation.body)
        for name in body_ids:
            body = operation.body or {}
            if "conversation_id" in body_ids:
                body = {**body, "conversation_id": own["conversation_id"]}
            yield Sent(verb, path.format_map(own), {**body, name: ids[name]})
    yield Sent("post", "/api/chat", {"parent_id": ids["parent_id"]})


def every(document: Mapping[str, Any], ids: Mapping[str, str]) -> Iterator[Sent]:
    """Every operation once."""
    for operation in operations(document):
        path = operation.path.format_map({**CLIENT_NAMES, **ids})
        yield Sent(operation.verb, path, operation.body)


def _path_ids(told: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(one["name"] for one in told["parameters"] if one["in"] == "path")


def _body_ids(told: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[str, ...]:
    if "requestBody" not in told:
        return ()
    # The body of an upload is bytes.
    schema = told["requestBody"]["content"].get("application/json", {}).get("schema", {})
    if "$ref" not in schema:
        # The body of another project's protocol.
        return ()
    name = schema["$ref"].rpartition("/")[2]
    fields = document["components"]["schemas"][name]["properties"]
    return tuple(field for field in fields if field.endswith("_id"))

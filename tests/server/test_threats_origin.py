"""T15: a page of another site, or a name that somebody points at this machine, gets nothing
done with the rights of the user who has it open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.rehearsal.script import say, turn
from headrace.server.settings import Settings
from tests.server.operation import CLIENT_NAMES, RUN_IDS, operations
from tests.server.serving import scripted
from tests.server.users import client_of, document

FOREIGN: dict[str, tuple[dict[str, str], int]] = {
    "origin": ({"origin": "https://evil.example"}, 403),
    "null origin": ({"origin": "null"}, 403),
    "empty origin": ({"origin": ""}, 403),
    "another port": ({"origin": "http://127.0.0.1:9999"}, 403),
    "almost": ({"origin": "http://127.0.0.1.evil.example"}, 403),
    "user": ({"origin": "http://127.0.0.1@evil.example"}, 403),
    "cross-site": ({"sec-fetch-site": "cross-site"}, 403),
    "same-site": ({"sec-fetch-site": "same-site"}, 403),
    "host": ({"host": "evil.example"}, 421),
    "long host": ({"host": "127.0.0.1.evil.example"}, 421),
    "no host": ({"host": ""}, 421),
    "user host": ({"host": "127.0.0.1@evil.example"}, 421),
    "open bracket": ({"host": "[::1"}, 421),
    "another loopback": ({"host": "127.0.0.2"}, 421),
    "text": ({"content-type": "text/plain"}, 415),
    "form": ({"content-type": "application/x-www-form-urlencoded"}, 415),
    "multipart": ({"content-type": "multipart/form-data; boundary=x"}, 415),
}
OURS: dict[str, dict[str, str]] = {
    "no browser": {},
    "our page": {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"},
    "another name": {"host": "localhost:8700", "origin": "http://localhost:8700"},
    "six": {"host": "[::1]:8700", "origin": "http://[::1]:8700"},
    "capitals": {"host": "LocalHost"},
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(scripted(turn(say("Hi."))), tmp_path) as client:
        yield client


def _type_of(path: str) -> str:
    """The type of the body that a route takes."""
    return "application/octet-stream" if path == "/api/files" else "application/json"


def changed(client: TestClient, headers: dict[str, str]) -> list[Any]:
    """The answers of every route that changes something."""
    ids = {"event_id": "msg_x", "conversation_id": "conv_x", **RUN_IDS, **CLIENT_NAMES}
    return [
        client.request(
            one.verb.upper(),
            one.path.format_map(ids),
            content=b'{"message": "x"}',
            headers={"content-type": _type_of(one.path), **headers},
        )
        for one in operations(document(client))
        if one.is_changing
    ]


FOREIGN_PROTOCOLS = ("/api/ai-sdk", "/api/ag-ui", "/v1/")


@pytest.mark.parametrize("kind", FOREIGN)
def test_t15_what_is_foreign_changes_nothing(client: TestClient, kind: str) -> None:
    headers, status = FOREIGN[kind]
    answers = changed(client, headers)
    assert len(answers) > 3
    assert {answer.status_code for answer in answers} == {status}
    assert client.get("/api/conversations").json()["conversations"] == []


@pytest.mark.parametrize("kind", OURS)
def test_t15_what_is_ours_is_let_in(client: TestClient, kind: str) -> None:
    statuses = {answer.status_code for answer in changed(client, OURS[kind])}
    assert statuses.isdisjoint({403, 415, 421})


def test_t15_another_host_reads_nothing_either(client: TestClient) -> None:
    for path in ("/", "/api/conversations", "/openapi.json", "/metrics"):
        assert client.get(path, headers={"host": "evil.example"}).status_code == 421


def test_t15_no_other_site_is_told_that_it_may(client: TestClient) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for verb in ("OPTIONS", "GET", "POST"):
        answer = client.request(verb, "/api/chat", headers=asked)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_t15_the_default_is_this_machine_alone() -> None:
    names = Settings(data=Path()).hosts
    assert set(names) == {"127.0.0.1", "localhost", "[::1]"}


def test_every_answer_is_guarded_and_every_refusal_has_a_number(client: TestClient) -> None:
    for path in ("/", "/healthz", "/api/conversations", "/nothing"):
        told = client.get(path).headers
        assert "default-src 'none'" in told["content-security-policy"]
        assert told["x-content-type-options"] == "nosniff"
    told = client.post("/api/chat", json={"message": "x"}).headers
    assert told["content-type"].startswith("text/event-stream")
    assert told.get_list("x-content-type-options") == ["nosniff"]
    for headers, _ in FOREIGN.values():
        for answer in changed(client, headers):
            number = answer.headers["x-request-id"]
            assert number
            if not answer.url.path.startswith(FOREIGN_PROTOCOLS):
                assert answer.json()["error"]["request_id"] == number


APP = "https://app.example.org"


@pytest.fixture
def open_client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(scripted(turn(say("Hi."))), tmp_path, origins=(APP,)) as client:
        yield client


def test_pages_of_an_allowed_origin_may_ask(open_client: TestClient) -> None:
    headers = {"origin": APP, "sec-fetch-site": "cross-site"}
    asking = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    preflight = open_client.options("/v1/chat/completions", headers={**headers, **asking})
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == APP
    assert preflight.headers["access-control-allow-headers"] == "authorization, content-type"
    answer = open_client.post("/api/chat", json={"message": "x"}, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == APP
    assert "x-event-id" in answer.headers["access-control-expose-headers"]
    # No cookie, and no other origin, comes along.
    assert "access-control-allow-credentials" not in answer.headers
    missing = open_client.get("/v1/models/nothing", headers=headers)
    assert missing.status_code == 404
    assert missing.headers["access-control-allow-origin"] == APP


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        f"{APP}.evil.example",
        f"{APP}:444",
        "http://app.example.org",
        "*",
    ],
)
def test_an_allowed_origin_allows_no_other(open_client: TestClient, origin: str) -> None:
    headers = {"origin": origin, "access-control-request-method": "POST"}
    preflight = open_client.options("/v1/chat/completions", headers=headers)
    assert "access-control-allow-origin" not in preflight.headers
    answers = changed(open_client, {"origin": origin})
    assert {answer.status_code for answer in answers} == {403}
    assert not any("access-control-allow-origin" in answer.headers for answer in answers)


def test_without_an_allowed_origin_no_page_is_told_anything(client: TestClient) -> None:
    headers = {"origin": APP, "access-control-request-method": "POST"}
    preflight = client.options("/v1/chat/completions", headers=headers)
    assert not any(name.startswith("access-control") for name in preflight.headers)

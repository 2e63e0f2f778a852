"""Two users: nothing of one reaches the other, not even that it exists. And strangers at the
gate: other hosts, other origins, other bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.rehearsal.script import say, turn
from headrace.server.app import create_app
from headrace.server.frame import FrameId, frame_id, sse
from tests.server.serving import scripted

SECRET = "the cellar key is under the third stone"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(scripted(turn(say(SECRET))), data=tmp_path, needs_token=True)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def local(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(scripted(turn(say("Hi."))), data=tmp_path)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def _token(client: TestClient, owner: str) -> dict[str, str]:
    service: Any = client.app.state.service  # type: ignore[attr-defined]
    return {"authorization": f"Bearer {service.tokens.create(owner, '', 0)}"}


def _routes(event_id: str, conversation_id: str) -> list[tuple[str, str, Any]]:
    """Every route and verb that takes an id."""
    conversation = f"/api/conversations/{conversation_id}"
    return [
        ("GET", f"/api/chat/{event_id}/stream", None),
        ("POST", f"/api/chat/{event_id}/cancel", None),
        ("GET", conversation, None),
        ("PATCH", conversation, {"title": "mine now"}),
        ("DELETE", conversation, None),
        ("GET", f"{conversation}/export", None),
        ("GET", f"{conversation}/export?format=markdown", None),
        ("POST", "/api/chat", {"message": "x", "conversation_id": conversation_id}),
        ("POST", "/api/chat", {"parent_id": event_id}),
    ]


def test_nothing_of_one_user_reaches_another(client: TestClient) -> None:
    anna, bert = _token(client, "anna"), _token(client, "bert")
    asked = client.post("/api/chat", json={"message": "where?"}, headers=anna)
    event_id, conversation_id = asked.headers["x-event-id"], asked.headers["x-conversation-id"]
    before = client.get(f"/api/conversations/{conversation_id}", headers=anna).content
    for verb, path, body in _routes(event_id, conversation_id):
        theirs = client.request(verb, path, json=body, headers=bert)
        nothing = client.request(
            verb,
            path.replace(event_id, "msg_none").replace(conversation_id, "conv_none"),
            json=None if body is None else {**body, **_nowhere(body)},
            headers=bert,
        )
        assert theirs.status_code == nothing.status_code == 404, (verb, path)
        assert theirs.json()["error"]["message"] == nothing.json()["error"]["message"]
        assert SECRET.encode() not in theirs.content
    assert client.get("/api/conversations", headers=bert).json() == {"conversations": []}
    assert client.get("/api/conversations?q=cellar", headers=bert).json() == {"conversations": []}
    after = client.get(f"/api/conversations/{conversation_id}", headers=anna).content
    assert after == before


def _nowhere(body: dict[str, Any]) -> dict[str, Any]:
    unknown = {"conversation_id": "conv_none", "parent_id": "msg_none"}
    return {name: value for name, value in unknown.items() if name in body}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Basic x"},
        {"x-api-key": "x"},
        {"authorization": "Bearer"},
    ],
)
def test_without_a_token_nothing_is_told(client: TestClient, headers: dict[str, str]) -> None:
    for verb, path, body in [*_routes("msg_x", "conv_x"), ("GET", "/api/conversations", None)]:
        answer = client.request(verb, path, json=body, headers=headers)
        assert answer.status_code == 401, (verb, path)


def test_tokens_are_kept_as_hashes(client: TestClient, tmp_path: Path) -> None:
    token = _token(client, "anna")["authorization"].removeprefix("Bearer ")
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("headrace.db*"))
    assert token.encode() not in kept


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-length": "99999999"}, 413),
    ],
)
def test_strangers_are_turned_away(local: TestClient, headers: dict[str, str], status: int) -> None:
    given = {"content-type": "application/json", **headers}
    answer = local.post("/api/chat", content=b'{"message": "x"}', headers=given)
    assert answer.status_code == status
    assert answer.json()["error"]["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"message": 3}',
        b'{"message": ""}',
        b'{"message": "   "}',
        b"{}",
        b'{"message": "x", "base_url": "http://evil.example"}',
        b'{"message": "x", "model": "openai:gpt-5"}',
        b'{"message": "x", "conversation_id": "../../etc/passwd"}',
        b"[" * 100_000,
        b'{"message": "' + b"x" * 2_000_000,
        b'{"message": "\\ud800"}',
        b"\xff\xfe",
    ],
)
def test_a_body_that_makes_no_sense_is_a_clear_answer(local: TestClient, body: bytes) -> None:
    answer = local.post("/api/chat", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("seen", ["x", "-1", "1.2.3", "1.x", "9" * 30, "\u0661", ""])
def test_an_id_that_is_none_of_ours_is_refused(local: TestClient, seen: str) -> None:
    asked = local.post("/api/chat", json={"message": "x"})
    path = f"/api/chat/{asked.headers['x-event-id']}/stream"
    answer = local.get(path, headers={b"last-event-id": seen.encode()})
    assert answer.status_code == 400


def test_frames_cannot_be_forged_from_inside() -> None:
    framed = sse(FrameId(1, 1), b"a\nid: 9\r\rdata: [DONE]\n\nevent: x")
    blocks = framed.decode().split("\n\n")
    assert len(blocks) == 2
    assert [line for line in blocks[0].split("\n") if not line.startswith("data: ")] == ["id: 1.1"]
    assert frame_id("12.3") == FrameId(12, 3)


def test_every_answer_is_guarded(local: TestClient) -> None:
    for path in ("/", "/healthz", "/api/conversations", "/nothing"):
        headers = local.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"].startswith("nosniff")

"""T3: there is one way to say who one is, and every route reads it alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.operation import RUN_IDS, every
from tests.server.users import User, document, tokened

ACCEPTED = {
    "x-api-key": {"x-api-key": "{}"},
    "bearer": {"authorization": "Bearer {}"},
    "lower case": {"authorization": "bearer {}"},
    "more blanks": {"authorization": "Bearer   {} "},
}
REFUSED: dict[str, dict[str, str]] = {
    "nothing": {},
    "another token": {"authorization": "Bearer hr_wrong"},
    "no token": {"authorization": "Bearer"},
    "half a token": {"authorization": "Bearer {:.20}"},
    "basic": {"authorization": "Basic {}"},
    "bare": {"authorization": "{}"},
    "twice": {"authorization": "Bearer {}, Bearer {}"},
    "api-key": {"api-key": "{}"},
    "x-auth-token": {"x-auth-token": "{}"},
    "x-forwarded-user": {"x-forwarded-user": "anna"},
    "x-remote-user": {"x-remote-user": "anna"},
    "proxy": {"proxy-authorization": "Bearer {}"},
    "cookie": {"cookie": "token={}; authorization=Bearer {}; session={}"},
    "strange bytes": {"authorization": "Bearer \xff\xfe{}"},
}
IN_THE_ADDRESS = ("token", "access_token", "api_key", "key", "authorization", "Bearer")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with tokened(tmp_path) as client:
        yield client


def sent(client: TestClient, headers: dict[str, str], query: str = "") -> set[int]:
    """The decisions of all routes."""
    nobody = {"event_id": "msg_x", "conversation_id": "conv_x", **RUN_IDS}
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    places = [*every(document(client), nobody), ("get", "/metrics", None)]
    return {
        client.request(verb.upper(), path + query, json=body, headers=raw).status_code
        for verb, path, body in places
    }


@pytest.mark.parametrize("carrier", ACCEPTED)
def test_t3_what_one_route_accepts_all_do(client: TestClient, carrier: str) -> None:
    token = User(client, "anna").token
    headers = {name: value.format(token) for name, value in ACCEPTED[carrier].items()}
    assert 401 not in sent(client, headers)


@pytest.mark.parametrize("carrier", REFUSED)
def test_t3_what_one_route_refuses_all_do(client: TestClient, carrier: str) -> None:
    token = User(client, "anna").token
    headers = {name: value.format(*[token] * 3) for name, value in REFUSED[carrier].items()}
    assert sent(client, headers) == {401}


@pytest.mark.parametrize("name", IN_THE_ADDRESS)
def test_t3_a_token_in_an_address_is_none(client: TestClient, name: str) -> None:
    assert sent(client, {}, f"?{name}={User(client, 'anna').token}") == {401}


def test_a_token_is_kept_as_its_hash_and_dies_with_it(client: TestClient, tmp_path: Path) -> None:
    anna = User(client, "anna")
    anna.ask()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("headrace.db*"))
    assert anna.token.encode() not in kept
    service: Any = client.app.state.service  # type: ignore[attr-defined]
    assert [one.owner for one in service.access_tokens.all()] == ["anna"]
    (one,) = service.access_tokens.all()
    assert service.access_tokens.revoke(one.id)
    assert not service.access_tokens.revoke(one.id)
    assert anna.send("get", "/api/conversations").status_code == 401

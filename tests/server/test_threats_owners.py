"""T1 and T2: nothing of one user reaches another, not even that it exists, and nothing of
theirs is changed. The routes are those of the OpenAPI document."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.server.storage.accounts import Role
from tests.server.operation import CLIENT_NAMES, operations, requests
from tests.server.users import SECRET, Carrier, User, document, guarded

TABLES = {
    "record_chunks": "*",
    "record_batches": "*",
    "conversations": "*",
    "messages": "*",
    "runs": "*",
    # Without the time of the last use.
    "tokens": "hash, owner, name, scope, expires_ms",
    "sign_ins": "hash, owner, created_ms, client",
    "users": "*",
    "user_settings": "*",
    "usage_rows": "*",
    "word_index": "*",
}
PAIRS: dict[str, tuple[tuple[Carrier, Role], tuple[Carrier, Role]]] = {
    "tokens": (("token", "user"), ("token", "user")),
    "cookies": (("cookie", "user"), ("cookie", "user")),
    "proxy": (("proxy", "user"), ("proxy", "user")),
    "operator": (("cookie", "user"), ("cookie", "operator")),
    "operator behind a proxy": (("token", "user"), ("proxy", "operator")),
}
"""How two users are known, and what they are."""
NOT_FOR_TOKENS = "/api/sign-ins/"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with guarded(tmp_path, asks_per_minute=10_000) as client:
        yield client


@pytest.fixture(params=PAIRS)
def users(client: TestClient, request: pytest.FixtureRequest) -> tuple[User, User]:
    first, second = PAIRS[request.param]
    anna, bert = User(client, "anna", *first), User(client, "bert", *second)
    anna.ask()
    bert.ask()
    return anna, bert


def contents(data: Path) -> list[Any]:
    with closing(sqlite3.connect(data / "headrace.db")) as connection:
        return [
            connection.execute(f"SELECT {columns} FROM {table}").fetchall()
            for table, columns in TABLES.items()
        ]


def without_request_id(answer: Any) -> Any:
    error = answer.json()["error"]
    return {name: value for name, value in error.items() if name != "request_id"}


def test_every_id_of_the_document_is_known(client: TestClient, users: tuple[User, User]) -> None:
    found = operations(document(client))
    named = {name for one in found for name in (*one.path_ids, *one.body_ids)}
    assert named - CLIENT_NAMES.keys() == set(users[0].ids)


def test_t1_and_t2_what_belongs_to_another_does_not_exist_and_is_not_changed(
    client: TestClient, users: tuple[User, User], tmp_path: Path, record_property: Any
) -> None:
    api, before, count = document(client), contents(tmp_path), 0
    for owner, stranger in (users, users[::-1]):
        nobody = {name: f"{name}_none" for name in owner.ids}
        theirs = requests(api, owner.ids, stranger.ids)
        nothing = requests(api, nobody, stranger.ids)
        for one, other in zip(theirs, nothing, strict=True):
            for seen in ("", "0", "1.1", "999999.9"):
                headers = {"last-event-id": seen} if seen else {}
                refused = stranger.send(*one, **headers)
                unknown = stranger.send(*other, **headers)
                is_closed = stranger.carrier == "token" and one.path.startswith(NOT_FOR_TOKENS)
                expected = 403 if is_closed else 404
                assert refused.status_code == unknown.status_code == expected, one
                told = str(without_request_id(refused))
                for name, id in owner.ids.items():
                    told = told.replace(id, nobody[name])
                assert told == str(without_request_id(unknown))
                assert SECRET not in refused.text
                assert set(refused.headers) == set(unknown.headers)
                count += 1
    assert contents(tmp_path) == before
    record_property("summary", f"T1, T2: {count} requests for what is another's, all 404")


def test_t1_lists_and_search_show_only_what_is_ones_own(users: tuple[User, User]) -> None:
    for owner, stranger in (users, users[::-1]):
        for path in ("/api/conversations", "/api/conversations?q=cellar"):
            found = stranger.send("get", path).json()["conversations"]
            ids = [one["id"] for one in found]
            # One of the page, and one of the Responses API.
            assert len(ids) == 2
            assert stranger.ids["conversation_id"] in ids
            assert owner.ids["conversation_id"] not in ids


def test_t2_the_same_key_of_two_users_is_two_runs(users: tuple[User, User]) -> None:
    asked = [
        user.send("post", "/api/chat", {"message": "x"}, **{"idempotency-key": "k"})
        for user in users
    ]
    assert asked[0].headers["x-event-id"] != asked[1].headers["x-event-id"]


def test_t1_an_export_has_nothing_of_another(users: tuple[User, User]) -> None:
    for owner, stranger in (users, users[::-1]):
        exported = stranger.send("get", "/api/account/export").text
        assert stranger.ids["conversation_id"] in exported
        for id in set(owner.ids.values()) - set(stranger.ids.values()):
            assert id not in exported
        listed = stranger.send("get", "/api/sign-ins").text
        assert owner.ids["sign_in_id"] not in listed


def test_t2_deleting_ones_own_data_deletes_nothing_of_another(users: tuple[User, User]) -> None:
    for owner, stranger in (users, users[::-1]):
        path = f"/api/conversations/{owner.ids['conversation_id']}"
        before = owner.send("get", path).status_code
        owner.send("patch", "/api/account/settings", {"theme": "dark"})
        assert stranger.send("delete", "/api/account/data").status_code == 204
        assert owner.send("get", path).status_code == before
        assert owner.send("get", "/api/account").json()["settings"] == {"theme": "dark"}


def test_an_operator_reads_the_metrics_and_nobody_else_does(client: TestClient) -> None:
    people: dict[tuple[Carrier, Role], int] = {
        ("cookie", "operator"): 200,
        ("proxy", "operator"): 200,
        # A token has the rights that it was made for, whoever owns it.
        ("token", "operator"): 403,
        ("cookie", "user"): 403,
        ("proxy", "user"): 403,
        ("token", "user"): 403,
    }
    for number, ((carrier, role), status) in enumerate(people.items()):
        user = User(client, f"user{number}", carrier, role)
        assert user.send("get", "/metrics").status_code == status, (carrier, role)
        expected = "user" if carrier == "token" else role
        assert user.send("get", "/api/account").json()["role"] == expected

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

from tests.server.operation import CLIENT_NAMES, operations, requests
from tests.server.users import SECRET, User, document, tokened

TABLES = (
    "record_chunks",
    "record_batches",
    "conversations",
    "messages",
    "runs",
    "tokens",
    "word_index",
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with tokened(tmp_path, asks_per_minute=10_000) as client:
        yield client


@pytest.fixture
def users(client: TestClient) -> tuple[User, User]:
    anna, bert = User(client, "anna"), User(client, "bert")
    anna.ask()
    bert.ask()
    return anna, bert


def contents(data: Path) -> list[Any]:
    with closing(sqlite3.connect(data / "headrace.db")) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]


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
                assert refused.status_code == unknown.status_code == 404, one
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

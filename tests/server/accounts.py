"""People who sign in to a server of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from starlette.testclient import TestClient

from headrace.rehearsal.script import say, turn
from headrace.server.accounts import passwords
from headrace.server.accounts.passwords import hash_with
from headrace.server.storage.accounts import Role
from tests.server.serving import scripted
from tests.server.users import FROM_PAGE, client_of, create_quick_hasher

PASSWORD = "correct horse battery"


@cache
def password_hash(password: str = PASSWORD) -> str:
    """Its hash."""
    return hash_with(create_quick_hasher(), password)


def service_of(client: TestClient) -> Any:
    return client.app.state.service  # type: ignore[attr-defined]


def add_user(client: TestClient, name: str, role: Role = "user") -> None:
    """Add an account with `PASSWORD`."""
    accounts = service_of(client).accounts
    assert client.portal is not None
    assert client.portal.call(accounts.add, name, role, password_hash(), 1)


def call(client: TestClient, function: Any, *values: Any) -> Any:
    """Call something asynchronous of the server."""
    assert client.portal is not None
    return client.portal.call(function, *values)


@contextmanager
def open_to_users(data: Path, *turns: Any, **settings: Any) -> Iterator[TestClient]:
    """A client of a server to which people sign in."""
    agent = scripted(*(turns or (turn(say("Hello.")),)))
    with (
        mock.patch.object(passwords, "_create_hasher", create_quick_hasher),
        client_of(agent, data, needs_sign_in=True, **settings) as client,
    ):
        yield client


def send_sign_in(client: TestClient, name: str, password: str = PASSWORD, **headers: str) -> Any:
    """Sign in without any cookie of before."""
    client.cookies.clear()
    given = {**FROM_PAGE, **headers}
    response = client.post("/api/sign-in", json={"user": name, "password": password}, headers=given)
    client.cookies.clear()
    return response


def sign_in(client: TestClient, name: str, **headers: str) -> dict[str, str]:
    """Sign in; return the headers of later requests of the page."""
    response = send_sign_in(client, name, **headers)
    assert response.status_code == 200, response.text
    cookie = response.headers["set-cookie"].partition(";")[0]
    return {**FROM_PAGE, **headers, "cookie": cookie}

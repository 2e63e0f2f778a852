"""Two users of one server, each with a conversation, and one that is being written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from argon2 import PasswordHasher
from starlette.testclient import TestClient

from headrace.rehearsal.script import say, turn
from headrace.server import create_app
from headrace.server.accounts import passwords
from headrace.server.accounts.cookie import LOOPBACK_COOKIE, create_cookie
from headrace.server.service import now_ms
from headrace.server.storage.accounts import Role, hash_sign_in, sign_in_id_of
from tests.server.serving import scripted
from tests.server.tokens import create_token

SECRET = "the cellar key is under the third stone"
PROXY = "10.9.8.7"
FROM_PAGE = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
"""What a browser says about a request of the server's own page."""


USER_HEADER = "x-remote-user"
"""In which the proxy of `guarded()` names the user."""
Carrier = Literal["token", "cookie", "proxy"]
"""How a request names its user."""


class User:
    """One of them, who is known by an access token, the cookie of a sign-in, or a proxy."""

    def __init__(
        self, client: TestClient, name: str, carrier: Carrier = "token", role: Role = "user"
    ) -> None:
        service: Any = client.app.state.service  # type: ignore[attr-defined]
        self._client = client
        self.name = name
        self.carrier = carrier
        self.token: str = create_token(service, name, "", 0)
        self.ids: dict[str, str] = {}
        self.cookie = self._sign_in(service, role)
        self.headers = {
            "token": {"authorization": f"Bearer {self.token}"},
            "cookie": {**FROM_PAGE, "cookie": f"{LOOPBACK_COOKIE}={self.cookie}"},
            "proxy": {USER_HEADER: name},
        }[carrier]

    def _sign_in(self, service: Any, role: Role) -> str:
        """Sign in without the password, which takes a while to check; return the cookie."""
        call, accounts = self._client.portal.call, service.accounts  # type: ignore[union-attr]
        call(accounts.add, self.name, role, "no password", 1)
        cookie = create_cookie()
        account = call(accounts.find, self.name)
        assert call(accounts.add_sign_in, hash_sign_in(cookie), account, "Firefox", now_ms())
        self.ids["sign_in_id"] = sign_in_id_of(hash_sign_in(cookie))
        return cookie

    def send(self, verb: str, path: str, body: Any = None, **headers: str) -> Any:
        given = {**self.headers, **headers}
        return self._client.request(verb.upper(), path, json=body, headers=given)

    def ask(self, message: str = SECRET) -> None:
        """Everything of theirs gets a name that a request has for it."""
        asked = self.send("post", "/api/chat", {"message": message})
        assert asked.status_code == 200, asked.text
        told = asked.headers
        self.ids |= {
            "event_id": told["x-event-id"],
            "conversation_id": told["x-conversation-id"],
            "parent_id": told["x-parent-id"],
            "beside_id": told["x-parent-id"],
            "leaf_id": told["x-event-id"],
            "run_id": asked.text.split('"run_id":"')[1].split('"')[0],
            "request_id": "req_x",
        }
        response = self.send("post", "/v1/responses", {"model": "default", "input": message})
        assert response.status_code == 200, response.text
        self.ids["response_id"] = response.json()["id"]
        headers = {**self.headers, "content-type": "application/octet-stream"}
        uploaded = self._client.post("/api/files", content=message.encode(), headers=headers)
        assert uploaded.status_code == 200, uploaded.text
        self.ids |= {
            "file_id": uploaded.json()["id"],
            "message_id": told["x-parent-id"],
            "n": "0",
        }


@contextmanager
def client_of(agent: Any, data: Path, **settings: Any) -> Iterator[TestClient]:
    """A client of a server on that folder."""
    app = create_app(agent, data=data, **settings)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@contextmanager
def tokened(data: Path, **settings: Any) -> Iterator[TestClient]:
    """The same where every request needs a token."""
    with client_of(scripted(turn(say(SECRET))), data, needs_token=True, **settings) as client:
        yield client


@contextmanager
def guarded(data: Path, **settings: Any) -> Iterator[TestClient]:
    """The same for every carrier. The client is the trusted proxy too."""
    agent = scripted(turn(say(SECRET)))
    with mock.patch.object(passwords, "_create_hasher", create_quick_hasher):
        app = create_app(
            agent,
            data=data,
            needs_sign_in=True,
            trusted_user_header=USER_HEADER,
            trusted_proxies=(PROXY,),
            **settings,
        )
    with TestClient(app, base_url="http://127.0.0.1", client=(PROXY, 5)) as client:
        yield client


def create_quick_hasher() -> PasswordHasher:
    """Hash passwords as quickly as possible, which no server should."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def document(client: TestClient) -> dict[str, Any]:
    """The OpenAPI document."""
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found

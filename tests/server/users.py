"""Two users of one server, each with a conversation, and one that is being written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from headrace.rehearsal.script import say, turn
from headrace.server import create_app
from tests.server.serving import scripted
from tests.server.tokens import create_token

SECRET = "the cellar key is under the third stone"


class User:
    """One of them."""

    def __init__(self, client: TestClient, name: str) -> None:
        service: Any = client.app.state.service  # type: ignore[attr-defined]
        self._client = client
        self.token: str = create_token(service, name, "", 0)
        self.headers = {"authorization": f"Bearer {self.token}"}
        self.ids: dict[str, str] = {}

    def send(self, verb: str, path: str, body: Any = None, **headers: str) -> Any:
        given = {**self.headers, **headers}
        return self._client.request(verb.upper(), path, json=body, headers=given)

    def ask(self, message: str = SECRET) -> None:
        """Everything of theirs gets a name that a request has for it."""
        asked = self.send("post", "/api/chat", {"message": message})
        assert asked.status_code == 200, asked.text
        told = asked.headers
        self.ids = {
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


def document(client: TestClient) -> dict[str, Any]:
    """The OpenAPI document."""
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found

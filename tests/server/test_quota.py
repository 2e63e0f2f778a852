"""How much one user may take: so many questions a minute, so many answers at once; and what may
be asked for: models and efforts that the server has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.encoders.chat.quirks import EFFORTS
from headrace.engine import Agent
from headrace.rehearsal.script import say, turn
from headrace.server.runs.rate_limit import Bucket
from tests.server.serving import Served, scripted, served
from tests.server.tokens import create_token
from tests.server.users import User, client_of, document, tokened

SLOW = turn(say("one two three four five six seven eight nine ten"), pace_s=0.03)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with tokened(tmp_path, asks_per_minute=3) as client:
        yield client


def ask(user: User, **headers: str) -> Any:
    return user.send("post", "/api/chat", {"message": "x"}, **headers)


def test_a_user_who_asks_too_often_is_told_when_to_come_back(client: TestClient) -> None:
    anna, bert = User(client, "anna"), User(client, "bert")
    assert [ask(anna).status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = ask(anna)
    assert refused.json()["error"]["code"] == "too_many_requests"
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert anna.send("get", "/api/conversations").status_code == 200
    assert ask(bert).status_code == 200


def test_all_tokens_of_a_user_share_what_they_may(client: TestClient) -> None:
    users = [User(client, "anna") for _ in range(4)]
    assert [ask(user).status_code for user in users] == [200, 200, 200, 429]


def test_what_is_taken_comes_back_with_time() -> None:
    bucket = Bucket(60, 0.0)
    assert [bucket.take(0.0) for _ in range(60)] == [0.0] * 60
    assert bucket.take(0.0) == pytest.approx(1.0)
    assert bucket.take(0.5) == pytest.approx(0.5)
    assert bucket.take(1.0) == 0.0
    assert not bucket.is_full(30.0)
    assert bucket.is_full(61.0)
    assert [bucket.take(1e6) for _ in range(61)][-1] > 0


def test_without_tokens_there_are_no_users_to_limit(tmp_path: Path) -> None:
    agent = scripted(turn(say("Hi.")))
    with client_of(agent, tmp_path, asks_per_minute=1, max_live_runs_per_user=1) as client:
        for _ in range(5):
            assert client.post("/api/chat", json={"message": "x"}).status_code == 200


def test_a_user_has_so_many_answers_at_once_and_others_have_theirs(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"needs_token": True, "max_live_runs_per_user": 2}

    async def main() -> None:
        async with served(scripted(SLOW), tmp_path, **limits) as server:
            anna, bert = (headers(server, name) for name in ("anna", "bert"))
            asked = await asyncio.gather(*(status(server, anna) for _ in range(8)))
            assert sorted(asked) == [200, 200, *[429] * 6]
            async with server.open("x", headers=anna) as refused:
                assert (await refused.json())["error"]["code"] == "too_many_runs"
                assert refused.headers["retry-after"] == "1"
            assert await status(server, bert) == 200
            await server.idle()
            assert await status(server, anna) == 200

    asyncio.run(main())


def test_the_same_key_finds_its_run_where_there_is_no_room_for_another(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(scripted(SLOW), tmp_path, max_live_runs=1) as server:
            key = {"idempotency-key": "k"}
            async with server.open("x", headers=key) as first:
                async with server.open("x") as refused:
                    assert refused.status == 429
                    assert (await refused.json())["error"]["code"] == "busy"
                async with server.open("x", headers=key) as again:
                    assert again.status == 200
                    assert await again.read() == await first.read()

    asyncio.run(main())


def headers(server: Served, owner: str) -> dict[str, str]:
    return {"authorization": f"Bearer {create_token(server.service, owner, '', 0)}"}


async def status(server: Served, given: dict[str, str]) -> int:
    async with server.open("x", headers=given) as response:
        return int(response.status)


# --- what may be asked for ------------------------------------------------------------------


@pytest.fixture
def local(tmp_path: Path) -> Iterator[TestClient]:
    agents = {"first": scripted(turn(say("Hi."))), "second": scripted(turn(say("Ho.")))}
    with client_of(agents, tmp_path, efforts=("none", "low", "high")) as client:
        yield client


@pytest.mark.parametrize("effort", ["none", "low", "high"])
def test_an_effort_of_the_set_reaches_the_model(local: TestClient, effort: str) -> None:
    asked = local.post("/api/chat", json={"message": "x", "effort": effort})
    assert asked.status_code == 200
    service: Any = local.app.state.service  # type: ignore[attr-defined]
    (sent,) = service.agents["first"]._endpoint["transport"].requests
    assert sent["reasoning_effort"] == effort
    whole = local.get(f"/api/conversations/{asked.headers['x-conversation-id']}/export").json()
    assert whole["messages"][-1]["message"]["effort"] == effort


@pytest.mark.parametrize("effort", ["medium", "enormous", "", 3, ["low"], {"effort": "low"}])
def test_any_other_effort_is_refused(local: TestClient, effort: Any) -> None:
    refused = local.post("/api/chat", json={"message": "x", "effort": effort})
    assert refused.status_code == 422
    assert local.get("/api/conversations").json()["conversations"] == []


def test_one_effort_does_not_stay_for_the_next(local: TestClient) -> None:
    for body in ({"effort": "high"}, {}):
        local.post("/api/chat", json={"message": "x", **body})
    service: Any = local.app.state.service  # type: ignore[attr-defined]
    first, second = service.agents["first"]._endpoint["transport"].requests
    assert first["reasoning_effort"] == "high"
    assert "reasoning_effort" not in second


def test_what_a_model_can_never_be_asked_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with client_of(Agent("openai:gpt-5"), tmp_path) as client:
        for _ in range(2):
            refused = client.post(
                "/api/chat", json={"message": "x"}, headers={"idempotency-key": "k"}
            )
            assert refused.status_code == 422
            assert refused.json()["error"]["code"] == "cannot_ask"
        assert client.get("/api/conversations").json()["conversations"] == []


def test_a_model_is_one_of_those_that_are_there(local: TestClient) -> None:
    answers = [local.post("/api/chat", json={"message": "x", "model": "second"}).text]
    assert "Ho." in answers[0]
    refused = local.post("/api/chat", json={"message": "x", "model": "openai:gpt-5"})
    assert refused.status_code == 422
    assert (
        refused.json()["error"]["message"] == "this server has no such model; it has first, second"
    )


def test_the_document_tells_the_efforts(local: TestClient) -> None:
    told = document(local)["components"]["schemas"]["ChatRequest"]["properties"]["effort"]
    words = {word for one in told["anyOf"] for word in one.get("enum", ())}
    assert words == set(EFFORTS)

"""Limits of an access token hold at every API, with the error of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from websockets.asyncio.client import connect

from headrace.cli.main import main
from headrace.rehearsal.script import say, turn
from headrace.rehearsal.script import usage as tokens
from headrace.server.service import Service
from headrace.server.storage.usage.limits import UsageLimits
from headrace.server.storage.usage.usage_table import UsageTable
from tests.doors.test_responses_socket import ask, site
from tests.server.serving import scripted, served
from tests.server.tokens import create_token
from tests.server.users import client_of

LIMITED = UsageLimits(tokens_per_day=10)
USED = {"input": 7, "output": 3}
"""What one answer uses: all that `LIMITED` allows."""
MESSAGES = [{"role": "user", "content": "Hi."}]
_UI_MESSAGE = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi."}]}
_AG_UI = {
    "threadId": "t",
    "runId": "{}",
    "messages": [{"id": "u1", "role": "user", "content": "Hi."}],
    "state": {},
    "tools": [],
    "context": [],
    "forwardedProps": {},
}
_CALL = {"name": "ask", "arguments": {"task": "Hi."}}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "headrace": ("/api/chat", {"message": "Hi."}),
    "chat": ("/v1/chat/completions", {"model": "default", "messages": MESSAGES}),
    "chat stream": (
        "/v1/chat/completions",
        {"model": "default", "messages": MESSAGES, "stream": True},
    ),
    "responses": ("/v1/responses", {"model": "default", "input": "Hi."}),
    "responses unstored": ("/v1/responses", {"model": "default", "input": "Hi.", "store": False}),
    "compaction": ("/v1/responses/compact", {"model": "default", "input": MESSAGES * 4}),
    "messages": ("/v1/messages", {"model": "default", "max_tokens": 9, "messages": MESSAGES}),
    "ai-sdk": ("/api/ai-sdk/chat", {"id": "c", "messages": [_UI_MESSAGE]}),
    "ag-ui": ("/api/ag-ui", _AG_UI),
}
READ_ERROR: dict[str, Callable[[Any], tuple[str, str]]] = {
    "/api/chat": lambda told: (told.json()["error"]["code"], told.json()["error"]["message"]),
    "/v1/chat": lambda told: (told.json()["error"]["type"], told.json()["error"]["message"]),
    "/v1/responses": lambda told: (told.json()["error"]["type"], told.json()["error"]["message"]),
    "/v1/messages": lambda told: (told.json()["error"]["type"], told.json()["error"]["message"]),
    "/api/ai-sdk": lambda told: (told.headers["x-error-code"], told.text),
    "/api/ag-ui": lambda told: (told.json()["type"], told.json()["message"]),
}
"""Returns the kind and the message of an error of the API at an address."""
KINDS = {"quota_exceeded", "rate_limit_error", "RUN_ERROR"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    answer = turn(say("Yes."), tokens(USED["input"], USED["output"]))
    with client_of(scripted(*[answer] * 9), tmp_path, needs_token=True) as client:
        yield client


def headers(client: TestClient, limits: UsageLimits | None = LIMITED) -> dict[str, str]:
    service: Any = client.app.state.service  # type: ignore[attr-defined]
    token = create_token(service, "anna", limits=limits)
    return {"authorization": f"Bearer {token}"}


def settle(client: TestClient) -> None:
    """Wait until what has ended is counted."""
    service: Any = client.app.state.service  # type: ignore[attr-defined]

    async def wait() -> None:
        while service.runs.rows or service.unstored.count or service.runs.saver.unsaved:
            await asyncio.sleep(0.01)

    client.portal.call(wait)  # type: ignore[union-attr]


def send(client: TestClient, door: str, given: dict[str, str], number: int = 0) -> Any:
    path, body = REQUESTS[door]
    # The same names would find the answer that there is.
    body = {**body, "runId": f"r{number}"} if door == "ag-ui" else body
    body = {**body, "id": f"c{number}"} if door == "ai-sdk" else body
    return client.post(path, json=body, headers=given)


@pytest.mark.parametrize("door", REQUESTS)
def test_what_is_used_at_one_api_is_refused_at_every_other(client: TestClient, door: str) -> None:
    limited, free = headers(client), headers(client, None)
    first = send(client, door, limited)
    assert first.status_code == 200, first.text
    settle(client)
    for other, (path, _) in REQUESTS.items():
        refused = send(client, other, limited, 1)
        assert refused.status_code == 429, (other, refused.text)
        assert 1 <= int(refused.headers["retry-after"]) <= 86_400
        read = next(read for start, read in READ_ERROR.items() if path.startswith(start))
        kind, message = read(refused)
        assert kind in KINDS
        assert "10 tokens per day" in message
    # Another token of the same user is not limited, and reading goes on.
    assert send(client, "headrace", free).status_code == 200
    assert client.get("/api/conversations", headers=limited).status_code == 200


def test_an_mcp_client_is_told_in_the_result(client: TestClient) -> None:
    limited = headers(client)
    for is_refused in (False, True):
        result = _call_tool(client, limited)
        text = result["content"][0]["text"]
        assert bool(result.get("isError")) is is_refused
        if is_refused:
            assert "10 tokens per day: try again in" in text
        else:
            assert text == "Yes."
        settle(client)
    assert send(client, "headrace", limited).status_code == 429


def _call_tool(client: TestClient, given: dict[str, str]) -> Any:
    """Call the agent as a client of the revision 2025-11-25, which opens a session first."""
    more = {**given, "accept": "application/json, text/event-stream"}
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    opened = _post(client, more, 1, "initialize", hello)
    more["mcp-session-id"] = opened.headers["mcp-session-id"]
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    client.post("/mcp", json=told, headers=more)
    answer = _post(client, more, 2, "tools/call", _CALL)
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return next(frame["result"] for frame in map(_decode, lines) if frame.get("id") == 2)


def _decode(line: str) -> Any:
    return json.loads(line.removeprefix("data: "))


def _post(client: TestClient, given: dict[str, str], number: int, method: str, params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    response = client.post("/mcp", json=body, headers=given)
    assert response.status_code == 200, response.text
    return response


def test_a_websocket_of_the_responses_api_is_refused_too(tmp_path: Path) -> None:
    async def play() -> None:
        answer = turn(say("Yes."), tokens(7, 3))
        agent = scripted(answer, answer)
        async with site(agent, tmp_path, needs_token=True) as (url, service, _):
            token = create_token(service, "anna", limits=LIMITED)
            given = {"authorization": f"Bearer {token}"}
            async with connect(url, additional_headers=given) as socket:
                first = await ask(socket, input="Hi.")
                assert first[-1]["type"] == "response.completed"
                await _wait_for_usage(service, 10)
                (refused,) = await ask(socket, input="Hi.")
            assert refused["type"] == "error"
            assert refused["status"] == 429
            assert "10 tokens per day" in refused["error"]["message"]

    asyncio.run(play())


async def _wait_for_usage(service: Service, tokens: int) -> None:
    """Wait until this many tokens are counted."""
    for _ in range(500):
        sums = UsageTable(service.database).sum_up([])
        if sum(one.input_tokens + one.output_tokens for one in sums) >= tokens:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the usage is not counted")


def test_requests_are_counted_when_they_begin(client: TestClient) -> None:
    limited = headers(client, UsageLimits(requests_per_day=2))
    assert [send(client, "headrace", limited).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("door", ["headrace", "responses", "ai-sdk", "ag-ui"])
def test_a_repeated_request_finds_its_answer_and_is_not_counted(
    client: TestClient, door: str
) -> None:
    limited = {**headers(client, UsageLimits(requests_per_day=1)), "idempotency-key": "k"}
    assert [send(client, door, limited).status_code for _ in range(3)] == [200] * 3


@pytest.mark.parametrize("door", ["headrace", "responses", "ai-sdk", "ag-ui"])
def test_a_request_to_a_server_that_is_stopping_is_not_counted(
    client: TestClient, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = headers(client, UsageLimits(requests_per_day=1))
    service: Any = client.app.state.service  # type: ignore[attr-defined]
    with monkeypatch.context() as stopping:
        stopping.setattr(service.runs, "_is_draining", True)
        assert [send(client, door, limited).status_code for _ in range(3)] == [503] * 3
    assert send(client, door, limited).status_code == 200


def test_a_request_that_cannot_be_made_is_not_counted(client: TestClient) -> None:
    limited = headers(client, UsageLimits(requests_per_day=1))
    wrong = {"model": "default", "input": "Hi.", "previous_response_id": "resp_none"}
    assert client.post("/v1/responses", json=wrong, headers=limited).status_code == 400
    assert send(client, "responses", limited).status_code == 200


def test_a_question_after_another_answer_is_charged_to_the_token(tmp_path: Path) -> None:
    slow = turn(say("one two three four five"), tokens(7, 3), pace_s=0.05)

    async def play() -> None:
        async with served(scripted(slow, slow), tmp_path, needs_token=True) as server:
            limits = UsageLimits(tokens_per_day=20)
            token = create_token(server.service, "anna", limits=limits)
            given = {"authorization": f"Bearer {token}"}
            async with server.open("x", headers=given) as first:
                conversation_id = first.headers["x-conversation-id"]
                more = {"conversation_id": conversation_id, "mode": "queue"}
                async with server.open("y", headers=given, **more) as second:
                    assert second.status == 200
            await _wait_for_usage(server.service, 20)
            async with server.open("z", headers=given) as third:
                assert third.status == 429

    asyncio.run(play())


def test_a_question_after_the_answer_of_another_token_is_charged_to_its_own(tmp_path: Path) -> None:
    slow = turn(say("one two three four five"), tokens(7, 3), pace_s=0.05)

    async def play() -> None:
        async with served(scripted(slow, slow, slow), tmp_path, needs_token=True) as server:
            both = [
                create_token(server.service, "anna", limits=UsageLimits(tokens_per_day=most))
                for most in (20, 10)
            ]
            given, limited = [{"authorization": f"Bearer {token}"} for token in both]
            async with server.open("x", headers=given) as first:
                conversation_id = first.headers["x-conversation-id"]
                more = {"conversation_id": conversation_id, "mode": "queue"}
                async with server.open("y", headers=limited, **more) as second:
                    assert second.status == 200
            await _wait_for_usage(server.service, 20)
            async with server.open("z", headers=limited) as third:
                assert third.status == 429
            async with server.open("z", headers=given) as fourth:
                assert fourth.status == 200

    asyncio.run(play())


def test_the_command_sets_and_shows_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--requests-per-minute", "20", "--tokens-per-day", "1000", "--cost-per-month", "2.5"]
    data = ["--data", str(tmp_path)]
    assert main(["token", "create", "anna", *limits, *data]) == 0
    capsys.readouterr()
    for _ in range(2):
        assert main(["token", "list", *data]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert all(
            "20 requests per minute, 1000 tokens per day, $2.5 per month" in line for line in shown
        )
        assert main(["token", "rotate", shown[-1].split()[0], *data]) == 0
        capsys.readouterr()


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5", ""])
def test_the_command_refuses_a_limit_that_is_none(given: str, tmp_path: Path) -> None:
    assert (
        main(["token", "create", "anna", "--tokens-per-day", given, "--data", str(tmp_path)]) != 0
    )


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "cheap"])
def test_the_command_refuses_a_cost_that_is_none(given: str, tmp_path: Path) -> None:
    assert (
        main(["token", "create", "anna", f"--cost-per-day={given}", "--data", str(tmp_path)]) != 0
    )

"""The API as it is described, and conversations as people use them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from headrace import Agent, Fallback, FallbackEntry
from headrace.encoders.chat.quirks import EFFORTS
from headrace.rehearsal.script import refuse, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.server import create_app
from tests.server.serving import scripted


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(scripted(turn(think("Hm."), say("Answer."))), data=tmp_path)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def service(client: TestClient) -> Any:
    return client.app.state.service  # type: ignore[attr-defined]


def ask(client: TestClient, message: str | None = None, **body: Any) -> tuple[str, str]:
    sent = body if message is None else {"message": message, **body}
    answer = client.post("/api/chat", json=sent)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-event-id"], answer.headers["x-conversation-id"]


def messages(client: TestClient, conversation_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/conversations/{conversation_id}").json()[
        "messages"
    ]
    return found


def test_the_document_names_every_route_and_no_other(client: TestClient) -> None:
    told = {
        (path, verb.upper())
        for path, verbs in client.get("/openapi.json").json()["paths"].items()
        for verb in verbs
    }
    routes = client.app.routes  # type: ignore[attr-defined]
    there = {
        (route.path.replace(":path", ""), method)
        for route in routes
        if isinstance(route, Route) and route.path.startswith(("/api/", "/v1/"))
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert told == there


def operations(client: TestClient) -> dict[str, Any]:
    """What the document tells, by verb and path."""
    return {
        f"{verb.upper()} {path}": operation
        for path, verbs in client.get("/openapi.json").json()["paths"].items()
        for verb, operation in verbs.items()
    }


def is_foreign(operation: str) -> bool:
    """Whether an operation is one of another project's protocol."""
    return operation.partition(" ")[2].startswith(("/api/ai-sdk", "/api/ag-ui", "/v1/"))


def test_the_document_tells_that_every_request_may_be_refused_or_fail(client: TestClient) -> None:
    for name, operation in operations(client).items():
        answers = operation["responses"]
        assert {*answers} > {"4XX", "5XX"}, name
        if is_foreign(name):
            # Errors in the shape of that protocol; tested in tests/server/doors/.
            continue
        for status in ("4XX", "5XX"):
            told = answers[status]["content"]["application/json"]["schema"]
            assert told == {"$ref": "#/components/schemas/ErrorResponse"}


def test_the_document_tells_every_media_type_that_is_answered(client: TestClient) -> None:
    asked = client.post("/api/chat", json={"message": "One?"})
    one = f"/api/conversations/{asked.headers['x-conversation-id']}"
    event = f"/api/chat/{asked.headers['x-event-id']}"
    run_id = asked.text.split('"run_id":"')[1].split('"')[0]
    there = {
        "POST /api/chat": [asked],
        "GET /api/chat/{event_id}/stream": [client.get(f"{event}/stream")],
        "POST /api/chat/{event_id}/cancel": [client.post(f"{event}/cancel")],
        "GET /api/runs/{run_id}/timeline": [client.get(f"/api/runs/{run_id}/timeline")],
        "GET /api/requests": [client.get("/api/requests")],
        "GET /api/conversations": [client.get("/api/conversations")],
        "GET /api/models": [client.get("/api/models")],
        "GET /api/account": [client.get("/api/account")],
        "PATCH /api/account/settings": [client.patch("/api/account/settings", json={})],
        "GET /api/sign-ins": [client.get("/api/sign-ins")],
        "GET /api/account/export": [client.get("/api/account/export")],
        "GET /api/conversations/{conversation_id}": [client.get(one)],
        "PATCH /api/conversations/{conversation_id}": [client.patch(one, json={"title": "x"})],
        "GET /api/conversations/{conversation_id}/export": [
            client.get(f"{one}/export?format={form}")
            for form in ("json", "markdown", "markdown-steps")
        ],
    }
    told = {name: entry for name, entry in operations(client).items() if not is_foreign(name)}
    # Tested in test_input_requests.py, where a run waits, and in test_files.py.
    waiting = {
        "GET /api/runs/{run_id}/requests",
        "POST /api/runs/{run_id}/requests/{request_id}",
        "POST /api/files",
        "DELETE /api/files/{file_id}",
        "GET /api/conversations/{conversation_id}/messages/{message_id}/attachments/{n}",
    }
    # Tested in test_accounts.py, where people sign in.
    waiting |= {"POST /api/sign-in", "POST /api/sign-out", "POST /api/account/password"}
    waiting |= {"DELETE /api/sign-ins/{sign_in_id}", "DELETE /api/account/data"}
    assert {*there, *waiting, "DELETE /api/conversations/{conversation_id}"} == {*told}
    for name, answers in there.items():
        kinds = {answer.headers["content-type"].partition(";")[0] for answer in answers}
        assert kinds == {*told[name]["responses"]["200"]["content"]}, name


def test_the_document_tells_every_header_that_a_request_may_bring(client: TestClient) -> None:
    told = {
        (name, parameter["name"])
        for name, operation in operations(client).items()
        for parameter in operation["parameters"]
        if parameter["in"] == "header"
    }
    assert told == {
        ("POST /api/chat", "Idempotency-Key"),
        ("POST /api/files", "X-File-Name"),
        ("GET /api/chat/{event_id}/stream", "Last-Event-ID"),
    }


def test_a_conversation_goes_on_and_the_model_is_told_all_of_it(client: TestClient) -> None:
    _, conversation_id = ask(client, "One?")
    ask(client, "Two?", conversation_id=conversation_id)
    roles = [one["role"] for one in messages(client, conversation_id)]
    assert roles == ["user", "assistant", "user", "assistant"]
    parents = [one["parent_id"] for one in messages(client, conversation_id)]
    ids = [one["id"] for one in messages(client, conversation_id)]
    assert parents == [None, *ids[:3]]


def test_an_answer_is_given_again_and_a_question_is_asked_again_as_branches(
    client: TestClient,
) -> None:
    first, conversation_id = ask(client, "One?")
    question = messages(client, conversation_id)[0]["id"]
    again, _ = ask(client, parent_id=question)
    edited, _ = ask(client, "Another one?", conversation_id=conversation_id, parent_id=question)
    tree = {one["id"]: one["parent_id"] for one in messages(client, conversation_id)}
    assert tree[first] == tree[again] == question
    assert tree[tree[edited]] == question


def test_the_first_question_is_asked_in_another_way(client: TestClient) -> None:
    _, conversation_id = ask(client, "One?")
    question = messages(client, conversation_id)[0]["id"]
    edited, _ = ask(client, "Uno?", conversation_id=conversation_id, beside_id=question)
    tree = {one["id"]: one["parent_id"] for one in messages(client, conversation_id)}
    assert tree[tree[edited]] is None
    assert len(tree) == 4
    assert client.post("/api/chat", json={"message": "x", "beside_id": question}).status_code == 422


def test_a_reader_turns_to_another_branch(client: TestClient) -> None:
    first, conversation_id = ask(client, "One?")
    path = f"/api/conversations/{conversation_id}"
    question = messages(client, conversation_id)[0]["id"]
    again, _ = ask(client, parent_id=question)
    assert client.get(path).json()["conversation"]["leaf_id"] == again
    assert client.patch(path, json={"leaf_id": first}).json()["leaf_id"] == first
    assert client.patch(path, json={"leaf_id": "msg_none"}).status_code == 404
    followed, _ = ask(client, "And?", conversation_id=conversation_id)
    tree = {one["id"]: one["parent_id"] for one in messages(client, conversation_id)}
    assert tree[tree[followed]] == first


def test_what_is_read_is_what_the_stream_ended_with(client: TestClient) -> None:
    answer = client.post("/api/chat", json={"message": "One?"})
    last = json.loads(answer.text.strip().rpartition("data: ")[2])
    assert last["type"] == "message_final"
    read = messages(client, answer.headers["x-conversation-id"])
    assert read[1]["event"] == last["event"]
    assert read[0]["text"] == "One?"
    assert read[0]["id"] == answer.headers["x-parent-id"]


def test_the_models_are_told(client: TestClient) -> None:
    (model,) = client.get("/api/models").json()["models"]
    assert model == {
        "name": "default",
        "model": "openai-chat:test",
        "tools": [],
        "efforts": list(EFFORTS),
        "is_rehearsal": False,
        "context_window": None,
    }


def test_titles_search_rename_export_and_delete(client: TestClient) -> None:
    _, conversation_id = ask(client, "How deep is the harbour at low tide in autumn?")
    path = f"/api/conversations/{conversation_id}"
    (found,) = client.get("/api/conversations?q=harb autumn").json()["conversations"]
    assert found["title"] == "How deep is the harbour at low tide in autumn?"
    assert client.get("/api/conversations?q=mountain").json()["conversations"] == []
    assert client.get("/api/conversations?q=%22%20OR%201").status_code == 200
    assert client.patch(path, json={"title": "Harbour"}).json()["title"] == "Harbour"
    assert client.patch(path, json={"title": " "}).status_code == 422
    text = client.get(f"{path}/export?format=markdown").text
    assert "# Harbour" in text
    assert "Answer." in text
    assert client.get(f"{path}/export?format=pdf").status_code == 422
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    assert client.get("/api/conversations?q=harbour").json()["conversations"] == []


def test_a_conversation_is_found_by_its_title_as_it_is_now(client: TestClient) -> None:
    _, conversation_id = ask(client, "How deep is it?")
    _, other = ask(client, "Zebra crossings?")
    path = f"/api/conversations/{conversation_id}"
    assert found(client, "?q=zebra") == [other]
    client.patch(path, json={"title": "Zebra finch"})
    assert set(found(client, "?q=zebra")) == {conversation_id, other}
    assert found(client, "?q=finch zeb") == [conversation_id]
    assert found(client, "?q=deep") == [conversation_id]
    client.patch(path, json={"title": "Harbour"})
    assert found(client, "?q=finch") == []
    assert found(client, "?q=harbour") == [conversation_id]
    client.delete(path)
    assert found(client, "?q=harbour") == []


def found(client: TestClient, query: str = "") -> list[str]:
    return [one["id"] for one in client.get(f"/api/conversations{query}").json()["conversations"]]


def test_all_conversations_are_listed_page_by_page(client: TestClient) -> None:
    made = [ask(client, f"Question {n}?")[1] for n in range(7)]
    pages, query = [], "?limit=3"
    while True:
        page = client.get(f"/api/conversations{query}").json()
        pages.append([one["id"] for one in page["conversations"]])
        if page["next"] is None:
            break
        query = f"?limit=3&before={page['next']}"
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [one for page in pages for one in page] == found(client)
    assert sorted(found(client)) == sorted(made)
    assert client.get("/api/conversations?limit=7").json()["next"] is None
    assert client.get("/api/conversations").json()["next"] is None


def test_what_moves_up_between_two_pages_takes_nothing_from_the_second(client: TestClient) -> None:
    for n in range(6):
        ask(client, f"Question {n}?")
    first = client.get("/api/conversations?limit=3").json()
    rest = found(client)[3:]
    ask(client, "And?", conversation_id=rest[2])
    second = client.get(f"/api/conversations?limit=3&before={first['next']}").json()
    assert [one["id"] for one in second["conversations"]] == rest[:2]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "bad_limit"),
        ("limit=101", "bad_limit"),
        ("limit=-1", "bad_limit"),
        ("limit=x", "bad_limit"),
        ("limit=²", "bad_limit"),
        ("limit=99999999999999999999", "bad_limit"),
        ("before=", "bad_before"),
        ("before=x", "bad_before"),
        ("before=1", "bad_before"),
        ("before=99999999999999999999.conv", "bad_before"),
        ("q=x&before=1.conv", "bad_before"),
    ],
)
def test_a_page_that_there_cannot_be_is_refused(client: TestClient, query: str, code: str) -> None:
    answer = client.get(f"/api/conversations?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_a_search_gives_no_more_than_was_asked_for(client: TestClient) -> None:
    for n in range(4):
        ask(client, f"Question {n}?")
    assert len(found(client, "?q=question")) == 4
    assert len(found(client, "?q=question&limit=3")) == 3


def test_markdown_is_the_branch_that_is_shown_and_json_is_all(client: TestClient) -> None:
    first, conversation_id = ask(client, "One?")
    path = f"/api/conversations/{conversation_id}"
    question = messages(client, conversation_id)[0]["id"]
    ask(client, "Two?", conversation_id=conversation_id)
    ask(client, "Uno?", conversation_id=conversation_id, beside_id=question)
    headings = {
        "Uno?": "# One?\n\n## User\n\nUno?\n\n## Assistant\n\nAnswer.\n",
        "One?": "# One?\n\n## User\n\nOne?\n\n## Assistant\n\nAnswer.\n",
    }
    assert client.get(f"{path}/export?format=markdown").text == headings["Uno?"]
    client.patch(path, json={"leaf_id": first})
    assert client.get(f"{path}/export?format=markdown").text == headings["One?"]
    assert len(client.get(f"{path}/export").json()["messages"]) == 6


def test_one_write_a_message_and_none_before_its_end(client: TestClient) -> None:
    for count in range(1, 4):
        ask(client, "Go.")
        assert service(client).store.message_writes == count


def test_metrics_and_readiness(client: TestClient) -> None:
    ask(client, "Go.")
    told = client.get("/metrics").text
    assert "headrace_messages_total 1\n" in told
    assert "headrace_live_runs 0\n" in told
    assert client.get("/readyz").json()["is_ready"] is True


def test_fallbacks_are_counted(tmp_path: Path) -> None:
    busy = ScriptedTransport([turn(refuse(529, "Overloaded."))], dialect="anthropic")
    ready = ScriptedTransport([turn(say("Answer."))], dialect="responses")
    models = Fallback(
        FallbackEntry("anthropic:claude-x", api_key="secret-key", transport=busy),
        FallbackEntry("openai:gpt-5", api_key="secret-key", transport=ready),
    )
    app = create_app(Agent(models), data=tmp_path)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        _, conversation_id = ask(client, "Go.")
        assert "Answer." in str(messages(client, conversation_id))
        told = client.get("/metrics").text
        listed = client.get("/api/models").text
    line = 'failed="anthropic:claude-x",next="openai:gpt-5",category="overloaded",late="false"'
    assert f"headrace_fallbacks_total{{{line}}} 1\n" in told
    assert "anthropic:claude-x" in listed
    assert "secret-key" not in told + listed


def test_records_are_forgotten_in_time_and_the_answer_stays(client: TestClient) -> None:
    event_id, conversation_id = ask(client, "Go.")
    assert client.portal is not None
    # In steps, because a jump of the clock would not be believed.
    times = [int(time.time() * 1000) + step * 23 * 3_600_000 for step in range(1, 9)]
    for at_ms in times:
        service(client).clock = partial(int, at_ms)
        assert client.portal.call(service(client).run_chores.expire_records) == (at_ms == times[-1])
    assert client.portal.call(service(client).run_chores.expire_records) == 0
    gone = client.get(f"/api/chat/{event_id}/stream")
    assert gone.status_code == 410
    assert gone.json()["error"]["conversation_id"] == conversation_id
    assert len(messages(client, conversation_id)) == 2

"""Tests of the notebook with a scripted model. Run them with pytest."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from headrace import Agent
from headrace.testing import ScriptedTransport, ScriptedTurn, call, say, turn

from .agent import notebook_agent
from .app import create
from .notes import Note, Notes


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    notes = Notes(tmp_path / "notes.db")
    notes.write("Tea", "Green, 3 minutes.")
    return notes


def agent_with(notes: Notes, *turns: ScriptedTurn) -> tuple[Agent, ScriptedTransport]:
    script = ScriptedTransport(turns)
    return notebook_agent(notes, "openai-chat:any", transport=script, api_key="-"), script


def test_the_model_writes_and_the_note_is_there(notes: Notes) -> None:
    agent, _ = agent_with(
        notes, turn(call("notepad", title="Coffee", content="Black.")), turn("Done.")
    )
    assert agent.complete("Write down how I take my coffee.").text == "Done."
    assert notes.find("black") == [Note("Coffee", "Black.", False)]


def test_the_model_is_told_what_is_found(notes: Notes) -> None:
    agent, script = agent_with(notes, turn(call("find_notes", words="tea")), turn("3 minutes."))
    agent.complete("How long for the tea?")
    assert "Green, 3 minutes." in str(script.requests[1]["messages"])


@pytest.mark.parametrize("tool", ["notepad", "remove_note"])
def test_a_pinned_note_is_left_alone(notes: Notes, tool: str) -> None:
    notes.pin("Tea")
    arguments = {"title": "tea"} | ({"content": "Black."} if tool == "notepad" else {})
    agent, script = agent_with(notes, turn(call(tool, arguments)), turn("I may not."))
    agent.complete("Away with the tea.")
    assert notes.all() == [Note("Tea", "Green, 3 minutes.", True)]
    assert "is pinned" in str(script.requests[1]["messages"])


def test_a_note_that_is_not_there_is_an_error_for_the_model(notes: Notes) -> None:
    agent, script = agent_with(
        notes, turn(call("remove_note", title="Milk")), turn("There is none.")
    )
    assert agent.complete("Away with the milk.").error is None
    assert "there is no note 'Milk'" in str(script.requests[1]["messages"])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    script = ScriptedTransport(
        [turn(call("notepad", title="To do", content="- rest")), turn(say("It is written."))]
    )
    app = create(tmp_path, "openai-chat:any", transport=script, api_key="-")
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def test_what_is_asked_in_the_chat_shows_beside_it_and_can_be_pinned(client: TestClient) -> None:
    asked = client.post("/chat/api/chat", json={"message": "Write my to-do list."})
    assert "message_final" in asked.text
    assert client.get("/notes").json() == [
        {"title": "To do", "content": "- rest", "is_pinned": False}
    ]
    client.put("/pins/To do")
    assert client.get("/notes").json()[0]["is_pinned"]
    client.delete("/pins/To do")
    assert not client.get("/notes").json()[0]["is_pinned"]


def test_the_page_holds_the_chat_and_is_for_this_machine(client: TestClient) -> None:
    assert "<headrace-chat" in client.get("/").text
    assert client.get("/chat/static/headrace.js").status_code == 200
    assert client.get("/notes", headers={"host": "elsewhere.example"}).status_code == 400

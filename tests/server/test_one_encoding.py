"""Each turn of the model costs one encoding of the provider request: not one to validate it and
another one to send it, neither in the engine nor behind `POST /api/chat`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headrace import Agent, Middleware, RunView, Truncate
from headrace.encoders import Request
from headrace.providers import Endpoint
from headrace.rehearsal.script import call, say, turn
from headrace.testing import ScriptedTransport
from headrace.transport.transport import HTTPCall
from headrace.turn import model
from tests.server.serving import scripted, served

TURNS = [turn(call("look_up", city="Oslo")), turn(say("Rain."))]


def look_up(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that are encoded from here on."""
    requests: list[Request] = []
    encode_call = model.encode_call

    def count(endpoint: Endpoint, request: Request) -> HTTPCall:
        requests.append(request)
        return encode_call(endpoint, request)

    monkeypatch.setattr(model, "encode_call", count)
    return requests


def agent(**options: object) -> Agent:
    transport = ScriptedTransport(TURNS)
    return Agent("vllm:any", tools=[look_up], transport=transport, **options)  # type: ignore[arg-type]


def test_a_run_encodes_once_for_each_turn(encoded: list[Request]) -> None:
    assert agent().complete("What is the weather?").text == "Rain."
    assert [len(request.messages) for request in encoded] == [1, 2]


class Shorten(Middleware):
    def on_request(self, run: RunView, request: Request) -> Request:
        return Request(model=request.model, messages=request.messages[-1:])


@pytest.mark.parametrize(
    "options", [{"middleware": [Shorten()]}, {"compactor": Truncate(max_messages=1)}]
)
def test_what_is_sent_is_the_changed_request(
    options: dict[str, object], encoded: list[Request]
) -> None:
    history = [*agent().run("Earlier?").messages[:1], *agent().run("Then?").messages[:1]]
    encoded.clear()
    transport = ScriptedTransport([turn(say("Yes."))])
    asked = Agent("vllm:any", transport=transport, **options)  # type: ignore[arg-type]
    assert asked.complete("Now?", history).text == "Yes."
    assert [len(request.messages) for request in encoded] == [3, 1]
    assert len(transport.requests[0]["messages"]) == 1


def test_a_check_encodes_once_for_a_model_and_its_options(encoded: list[Request]) -> None:
    checked = agent()
    checked.check()
    checked.check()
    assert len(encoded) == 1


def test_a_question_to_the_server_is_encoded_once(tmp_path: Path, encoded: list[Request]) -> None:
    async def ask() -> None:
        async with served(scripted("Yes."), tmp_path) as server:
            for number in range(3):
                await server.ask(f"Number {number}?")
                texts = [str(request.messages) for request in encoded]
                assert sum(f"Number {number}?" in text for text in texts) == 1
                # The first question also checks the agent, with a short request of its own.
                assert len(encoded) == (2 if number == 0 else 1)
                encoded.clear()

    asyncio.run(ask())

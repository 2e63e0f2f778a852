"""The whole path against a real inference server, through three of its grammars: stream,
tool call, tool result, answer. Nothing is mocked."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
import pytest

import headrace
from headrace import Message, ToolSpec
from headrace import events as ev
from headrace.content import TextContent
from headrace.engine import Agent
from headrace.messages import CallResult
from tests.grammar import check_grammar
from tests.live.llama import MODEL_MAKER, llama_server

pytest.importorskip("xllamacpp")
pytestmark = [pytest.mark.shared(MODEL_MAKER), pytest.mark.timeout(90)]

MODELS = {"chat": "llamacpp:tiny", "anthropic": "anthropic:tiny", "responses": "openai:tiny"}
each_dialect = pytest.mark.parametrize("dialect", MODELS)
WEATHER = ToolSpec(
    name="get_weather",
    description="The weather in a city",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
)
QUESTION = Message(role="user", content=(TextContent("What is the weather in Paris?"),))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_server(tmp_path_factory.mktemp("llama")) as address:
        yield address


def base_of(address: str, dialect: str) -> str:
    """Anthropic's addresses have no version; those of the others do."""
    return address.removesuffix("/v1") if dialect == "anthropic" else address


@each_dialect
def test_a_question_is_thought_about_and_answered(address: str, dialect: str) -> None:
    with headrace.stream(
        MODELS[dialect], "Hello", base_url=base_of(address, dialect), api_key="none"
    ) as turn:
        events = list(turn)
    check_grammar(events)
    assert isinstance(events[-1], ev.TurnFinished)
    assert turn.message.reasoning.startswith("[STATUS: reading the question]")
    assert "42" in turn.message.text
    assert turn.usage.output_tokens


@each_dialect
def test_a_tool_is_called_answered_and_the_answer_read(address: str, dialect: str) -> None:
    """The second request replays the first reply: reasoning, seals, the call as written."""
    first = headrace.complete(
        MODELS[dialect],
        QUESTION,
        tools=[WEATHER],
        base_url=base_of(address, dialect),
        api_key="none",
    )
    (call,) = first.message.calls
    assert (call.name, call.args) == ("get_weather", {"city": "Paris", "days": 3})
    assert str(first.finish) == "tool_use"
    answered = with_results(first.message)
    second = headrace.complete(
        MODELS[dialect],
        [QUESTION, answered],
        tools=[WEATHER],
        base_url=base_of(address, dialect),
        api_key="none",
    )
    assert second.error is None
    assert second.text
    assert str(second.finish) == "end_turn"


@each_dialect
def test_the_same_without_blocking(address: str, dialect: str) -> None:
    async def ask() -> headrace.Result:
        return await headrace.complete_async(
            MODELS[dialect], "Hello", base_url=base_of(address, dialect), api_key="none"
        )

    assert "42" in asyncio.run(ask()).text


@each_dialect
def test_leaving_early_closes_the_connection_and_keeps_what_came(
    address: str, dialect: str
) -> None:
    with headrace.stream(
        MODELS[dialect], "Hello", base_url=base_of(address, dialect), api_key="none"
    ) as turn:
        for event in turn:
            if isinstance(event, ev.ReasoningDelta):
                break
    assert turn.message.reasoning
    assert turn.finish is None


def test_the_command_line_answers_in_a_pipe(address: str) -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "headrace", "ask", "-m", "llamacpp:tiny", "--base-url", address],
        input=b"Hello",
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert asked.returncode == 0
    assert b"42" in asked.stdout
    assert b"STATUS" not in asked.stdout
    assert b"STATUS" in asked.stderr


def with_results(message: Message) -> Message:
    content = (TextContent("18 degrees, sunny"),)
    results = tuple(CallResult(call_id=call.call_id, content=content) for call in message.calls)
    turn = msgspec.structs.replace(message.turns[0], results=results)
    return msgspec.structs.replace(message, turns=(turn,))


@each_dialect
def test_an_agent_calls_a_real_tool_and_answers(address: str, dialect: str) -> None:
    called: list[tuple[str, int]] = []

    def get_weather(city: str, days: int) -> str:
        """The weather in a city."""
        called.append((city, days))
        return "Sunny, 21 degrees."

    agent = Agent(
        MODELS[dialect], tools=[get_weather], base_url=base_of(address, dialect), api_key="none"
    )
    with agent.run("What is the weather in Paris?") as run:
        records = list(run.records())
    assert called == [("Paris", 3)]
    assert run.result.finish is not None
    assert run.result.finish.word == "end_turn"
    assert run.result.text
    assert [type(r.event).__name__ for r in records][-1] == "RunFinished"
    assert {r.step for r in records} == {0, 1}
    assert run.message.turns[0].results[0].content == (TextContent("Sunny, 21 degrees."),)
    assert run.result.usage.output_tokens


class Reply(msgspec.Struct):
    """An answer of a fixed shape."""

    topic: Literal["water", "wind"]
    numbers: Annotated[list[int], msgspec.Meta(min_length=1, max_length=3)]
    is_sure: bool


def test_a_grammar_makes_the_answer_a_value_of_the_type(address: str) -> None:
    """The model cannot know the schema: its tokens are constrained by the server's grammar."""
    with headrace.stream(
        "llamacpp:m", "Hello", base_url=address, output_type=Reply, max_tokens=400, temperature=0.0
    ) as turn:
        values = [msgspec.json.encode(value) for value in turn.partial()]
    assert isinstance(turn.output, Reply)
    assert turn.output.topic in ("water", "wind")
    assert msgspec.json.decode(values[-1], type=Reply) == turn.output

"""Typed results: every kind of type on every dialect and in every mode, wrong answers, and values
that grow."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

import headrace
from headrace import events as ev
from headrace.errors import OutputInvalid, UsageError
from headrace.events import decode_record, encode_record
from headrace.messages import fold
from headrace.testing import ScriptedTransport, call, cut, finish, say, think, turn
from headrace.transport.transport import HTTPCall
from tests.engine.play import check_answered, check_order
from tests.wire import sse


class City(msgspec.Struct):
    name: str
    population: int


@dataclasses.dataclass
class Village:
    name: str
    population: int


class Place(TypedDict):
    name: str
    population: int


class Town(pydantic.BaseModel):
    name: str
    population: int


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["name", "population"],
    "additionalProperties": False,
}
OSLO = {"name": "Oslo", "population": 700_000}
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "Struct": (City, OSLO, City("Oslo", 700_000)),
    "dataclass": (Village, OSLO, Village("Oslo", 700_000)),
    "TypedDict": (Place, OSLO, OSLO),
    "pydantic": (Town, OSLO, Town(name="Oslo", population=700_000)),
    "list": (list[City], {"value": [OSLO]}, [City("Oslo", 700_000)]),
    "union": (City | Village, {"value": OSLO}, City("Oslo", 700_000)),
    "schema": (SCHEMA, OSLO, OSLO),
}


class Replies:
    """A transport that answers each request with the next body of a list."""

    def __init__(self, *bodies: bytes) -> None:
        self._bodies = list(bodies)
        self.requests: list[Any] = []

    async def open(self, call: HTTPCall) -> Any:
        self.requests.append(json.loads(call.body))
        return _Body(self._bodies.pop(0))

    async def aclose(self) -> None:
        pass


class _Body:
    request_id = None
    first_event_by_s = None
    secrets = ()

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # Small reads, so that the answer grows.
        for at in range(0, len(self._data), 37):
            yield self._data[at : at + 37]

    def clean(self, text: str) -> str:
        return text

    async def aclose(self) -> None:
        pass


def gemini(*parts: Any) -> bytes:
    pieces = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    return sse(*pieces, {"candidates": [{"finishReason": "STOP"}]}, done=False)


def ollama(*messages: Any) -> bytes:
    lines = [{"model": "m", "message": {"role": "assistant", **m}, "done": False} for m in messages]
    end = {"role": "assistant", "content": ""}
    lines.append({"model": "m", "message": end, "done": True, "done_reason": "stop"})
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def answer_in(dialect: str, mode: str, value: Any) -> Any:
    """Return a transport whose model gives this answer."""
    text = json.dumps(value)
    if dialect == "gemini":
        part = {"functionCall": {"name": "final_answer", "args": value}}
        halves = ({"text": text[:9]}, {"text": text[9:]})
        return Replies(gemini(part) if mode == "tool" else gemini(*halves))
    if dialect == "ollama":
        calls = {"tool_calls": [{"function": {"name": "final_answer", "arguments": value}}]}
        halves = ({"content": text[:9]}, {"content": text[9:]})
        return Replies(ollama(calls) if mode == "tool" else ollama(*halves))
    line = call("final_answer", value) if mode == "tool" else say(text)
    return ScriptedTransport([turn(think("Hm."), line)], dialect=dialect)


MODELS = {
    "chat": "vllm:m",
    "anthropic": "anthropic:claude-sonnet-5",
    "responses": "openai:gpt-5",
    "gemini": "gemini:gemini-3-pro",
    "ollama": "ollama:m",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
@pytest.mark.parametrize("dialect", MODELS)
def test_every_type_in_every_mode_on_every_dialect(dialect: str, mode: Any, kind: str) -> None:
    output_type, value, meant = KINDS[kind]
    options: dict[str, Any] = {"output_type": output_type, "output_mode": mode, "api_key": "k"}
    transport = answer_in(dialect, mode, value)
    result = headrace.complete(MODELS[dialect], "Where?", transport=transport, **options)
    assert result.output == meant
    assert type(result.output) is type(meant)
    asked = json.dumps(transport.requests[0])
    assert ("final_answer" in asked) == (mode == "tool")
    assert ("matches this JSON schema" in asked) == (mode == "prompt")
    # The same in a run, whose records give the same message.
    agent = headrace.Agent(MODELS[dialect], transport=answer_in(dialect, mode, value), **options)
    with agent.run("Where?") as run:
        for _ in run:
            pass
    assert run.output == meant
    check_order(run.records_so_far)
    check_answered(run.records_so_far)
    again = [decode_record(encode_record(record)) for record in run.records_so_far]
    assert (
        fold(again).output
        == run.message.output
        == (value if meant is value else run.message.output)
    )
    # And while it grows.
    stream = headrace.stream(
        MODELS[dialect], "Where?", transport=answer_in(dialect, mode, value), **options
    )
    with stream:
        values = [json.loads(json.dumps(grown)) for grown in stream.partial()]
    unwrapped = value.get("value", value)
    assert values[-1] == unwrapped


def test_the_mode_is_that_of_the_catalog() -> None:
    modes = {
        "openai:gpt-5": "native",
        "deepseek:deepseek-chat": "tool",
        "groq:llama": "tool",
        "anthropic:claude-sonnet-4-5": "native",
        "anthropic:claude-3-7-sonnet-latest": "tool",
        "gemini:gemini-2.5-pro": "native",
    }
    for model, mode in modes.items():
        stream = headrace.stream(model, "?", output_type=City, api_key="k", transport=Replies())
        assert stream._output_plan is not None
        assert stream._output_plan.mode == mode, model


@pytest.mark.parametrize("model", ["gemini:gemini-2.5-pro", "ollama:m", "llamacpp:m"])
def test_beside_tools_a_schema_gives_way_to_a_tool(model: str) -> None:
    def look() -> str:
        """Look."""
        return "nothing"

    options: dict[str, Any] = {"api_key": "k", "transport": Replies(), "output_type": City}
    alone = headrace.stream(model, "?", **options)
    beside = headrace.stream(model, "?", tools=[look], **options)
    assert alone._output_plan is not None
    assert beside._output_plan is not None
    assert (alone._output_plan.mode, beside._output_plan.mode) == ("native", "tool")


def test_claude_is_not_forced_while_it_thinks() -> None:
    transport = ScriptedTransport([turn(call("final_answer", OSLO))] * 2, dialect="anthropic")
    options: dict[str, Any] = {"transport": transport, "output_type": City, "api_key": "k"}
    model = "anthropic:claude-sonnet-4-0"
    headrace.complete(model, "?", **options)
    headrace.complete(model, "?", effort="low", **options)
    forced, free = transport.requests
    assert forced["tool_choice"] == {"type": "tool", "name": "final_answer"}
    assert "tool_choice" not in free
    assert "final_answer" in free["system"]


# --- wrong answers ---------------------------------------------------------------------


def test_a_wrong_answer_is_corrected() -> None:
    script = ScriptedTransport(["Oslo!", turn(say('{"name": 3}')), turn(say(json.dumps(OSLO)))])
    result = headrace.complete("vllm:m", "Where?", transport=script, output_type=City)
    assert result.output == City("Oslo", 700_000)
    assert [turn.step for turn in result.message.turns] == [0, 1, 2]
    told = script.requests[2]["messages"]
    assert [message["role"] for message in told] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert "not valid JSON" in told[2]["content"]
    assert "answer.name: expected str, got int" in told[4]["content"]
    parts = [part.part for turn in result.message.turns for part in turn.parts]
    assert parts == sorted(set(parts))
    assert result.usage == sum((t.usage for t in result.message.turns), headrace.Usage())


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_after_the_last_correction_the_answer_is_invalid(retries: int) -> None:
    script = ScriptedTransport([turn(say('{"name": 3}'))] * 9)
    with pytest.raises(OutputInvalid) as raised:
        headrace.complete("vllm:m", "?", transport=script, output_type=City, output_retries=retries)
    assert len(script.requests) == retries + 1
    assert raised.value.text == '{"name": 3}'
    assert "answer.name" in raised.value.problem
    assert len(raised.value.result.message.turns) == retries + 1
    with pytest.raises(OutputInvalid):
        _ = raised.value.result.output


def test_an_answer_that_is_cut_short_is_not_asked_for_again() -> None:
    script = ScriptedTransport([turn(say('{"name": "Os'), finish("max_tokens"))] * 3)
    with pytest.raises(OutputInvalid, match="max_tokens"):
        headrace.complete("vllm:m", "?", transport=script, output_type=City)
    assert len(script.requests) == 1
    agent = headrace.Agent("vllm:m", transport=script, output_type=City)
    with pytest.raises(OutputInvalid, match="max_tokens"):
        agent.complete("?")
    assert len(script.requests) == 2


def look(x: int) -> int:
    """Look."""
    return x


# The catalog asks for the answer by a schema, by a tool, and by a schema beside tools.
@pytest.mark.parametrize(
    ("model", "dialect"),
    [("openai:m", "responses"), ("deepseek:m", "chat"), ("anthropic:claude-sonnet-5", "anthropic")],
)
def test_a_call_of_a_tool_is_no_wrong_answer(model: str, dialect: str) -> None:
    script = ScriptedTransport([turn(call("look", x=1)), "{}"], dialect=dialect)
    result: Any = headrace.complete(
        model, "?", api_key="k", transport=script, tools=[look], output_type=City
    )
    assert len(script.requests) == 1
    assert result.finish.word == "tool_use"
    assert [call.name for call in result.message.turns[0].calls] == ["look"]
    with pytest.raises(OutputInvalid, match="the model called look, and has not answered yet"):
        _ = result.output


def test_a_call_of_a_tool_that_was_not_offered_is_a_wrong_answer() -> None:
    script = ScriptedTransport([turn(call("other", x=1)), json.dumps(OSLO)])
    result: Any = headrace.complete("vllm:m", "?", transport=script, tools=[look], output_type=City)
    assert result.output == City("Oslo", 700_000)
    assert len(script.requests) == 2


def test_a_connection_that_broke_is_not_told_as_a_wrong_type() -> None:
    script = ScriptedTransport([turn(say('{"name": "Os'), cut())])
    result: Any = headrace.complete("vllm:m", "?", transport=script, output_type=City)
    assert result.error.category == "network"
    with pytest.raises(OutputInvalid, match=r"^there is no answer of the type .*: the connection"):
        _ = result.output


def agent_with(*turns: Any, model: str = "deepseek:m", **options: Any) -> tuple[Any, Any]:
    script = ScriptedTransport(list(turns))
    named = {"tools": [look], "output_type": City, "api_key": "k", **options}
    return headrace.Agent(model, transport=script, **named), script


def test_a_run_answers_by_a_tool_beside_others() -> None:
    agent, _ = agent_with(
        turn(call("look", {"x": 1})),
        turn(call("final_answer", {"name": 3}), call("look", {"x": 2})),
        turn(call("final_answer", OSLO), call("look", {"x": 3})),
    )
    with agent.run("?") as run:
        for _ in run:
            pass
    check_order(run.records_so_far)
    check_answered(run.records_so_far)
    assert run.output == City("Oslo", 700_000)
    assert run.result.finish is not None
    assert run.result.finish.word == "end_turn"
    wrong, right = run.message.turns[1:]
    assert [result.is_error for result in wrong.results] == [True, False]
    assert "answer.name" in wrong.results[0].content[0].text
    # Beside the answer nothing else is run.
    started = [r.event.args for r in run.records_so_far if isinstance(r.event, ev.ToolStarted)]
    assert started == [{"x": 1}, {"x": 2}]
    assert len(right.results) == 2


def test_a_run_with_a_wrong_answer_fails() -> None:
    agent, script = agent_with(*["No."] * 5, model="vllm:m", output_retries=1)
    with agent.run("?") as run:
        for _ in run:
            pass
    check_order(run.records_so_far)
    check_answered(run.records_so_far)
    last = run.records_so_far[-1].event
    assert isinstance(last, ev.RunFailed)
    assert last.category == "invalid_output"
    assert len(script.requests) == 2
    with pytest.raises(OutputInvalid, match="not valid JSON"):
        _ = run.output
    with pytest.raises(OutputInvalid):
        asyncio.run(agent.complete_async("?"))


def test_middleware_can_send_a_good_answer_back() -> None:
    class Again(headrace.Middleware):
        def __init__(self) -> None:
            self.turns = 0

        def on_turn_end(self, run: Any, turn: Any) -> str | None:
            self.turns += 1
            return "Check it." if self.turns == 1 else None

    bergen = {"name": "Bergen", "population": 1}
    agent, _ = agent_with(
        turn(say(json.dumps(OSLO))), turn(say(json.dumps(bergen))), model="vllm:m",
        middleware=[Again()],
    )  # fmt: skip
    assert agent.complete("?").output == City("Bergen", 1)


def test_an_answer_that_was_sent_back_is_not_the_output_of_an_aborted_run() -> None:
    class Again(headrace.Middleware):
        def on_turn_end(self, run: Any, turn: Any) -> str:
            return "Check it."

    def stop() -> headrace.ToolReturn:
        """Stop."""
        return headrace.ToolReturn(content=(headrace.TextContent("so"),), ends_run=True)

    agent, _ = agent_with(
        turn(say(json.dumps(OSLO))),
        turn(call("stop", {})),
        model="vllm:m",
        tools=[stop],
        middleware=[Again()],
    )
    with agent.run("?") as run:
        events = list(run)
    assert not any(isinstance(event, ev.OutputProduced) for event in events)
    with pytest.raises(OutputInvalid):
        _ = run.output


def test_a_secret_in_the_answer_is_hidden_there_too() -> None:
    secret = "hunter2-hunter2"
    agent, _ = agent_with(
        turn(say(json.dumps({"name": secret, "population": 1}))),
        model="vllm:m",
        middleware=[headrace.Redaction(secrets=[secret])],
    )
    result = agent.complete("?")
    assert secret not in json.dumps(msgspec.to_builtins(result.message))
    assert secret not in result.output.name


# --- values that grow ------------------------------------------------------------------


def test_arguments_of_calls_grow_in_the_same_way() -> None:
    script = ScriptedTransport([turn(call("look", {"x": 12}), call("dig", {"at": ["a b c", "d"]}))])
    with headrace.stream("vllm:m", "?", transport=script) as stream:
        seen = [
            (partial.name, json.loads(json.dumps(partial.arguments)))
            for partial in stream.partial_calls()
        ]
    assert ("look", {"x": 12}) in seen
    assert seen[-1] == ("dig", {"at": ["a b c", "d"]})
    assert seen[0] == ("look", None)


def test_growing_values_can_be_read_without_blocking() -> None:
    async def read() -> list[Any]:
        script = ScriptedTransport(["Oslo!", turn(say(json.dumps(OSLO)))])
        agent = headrace.Agent("vllm:m", transport=script, output_type=City)
        async with agent.run("?") as run:
            return [dict(value) async for value in run.partial()]

    values = asyncio.run(read())
    assert values[-1] == OSLO
    assert all(set(value) <= set(OSLO) for value in values)


def test_without_a_type_there_is_no_output() -> None:
    result = headrace.complete("vllm:m", "?", transport=ScriptedTransport(["Hi."]))
    with pytest.raises(UsageError, match="without an output_type"):
        _ = result.output
    with pytest.raises(UsageError, match="needs an output_type"):
        headrace.stream("vllm:m", "?", transport=ScriptedTransport(["Hi."])).partial()
    with pytest.raises(UsageError, match="output_retries"):
        headrace.stream("vllm:m", "?", output_type=City, output_retries=-1)


def test_a_tool_of_the_same_name_is_refused() -> None:
    def final_answer() -> str:
        """Answer."""
        return ""

    with pytest.raises(UsageError, match="rename it"):
        headrace.stream("deepseek:m", "?", tools=[final_answer], output_type=City, api_key="k")


def test_a_record_stream_is_typed() -> None:
    """The type of `output` follows from `output_type`; checked by mypy and pyright."""
    result = headrace.complete(
        "vllm:m", "?", transport=ScriptedTransport([turn(say(json.dumps(OSLO)))]), output_type=City
    )
    name: str = result.output.name
    assert name == "Oslo"
    agent = headrace.Agent(
        "vllm:m", transport=ScriptedTransport([turn(say(json.dumps(OSLO)))]), output_type=City
    )
    population: int = agent.complete("?").output.population
    assert population == 700_000

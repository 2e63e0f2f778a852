"""A scripted model behind the seam: turns by turns, faults as real ones, nothing left open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace
from headrace import Message, RequestFailed, UsageError
from headrace import events as ev
from headrace.testing import (
    Heard,
    ScriptedTransport,
    ScriptedTurn,
    call,
    cut,
    error,
    finish,
    no_finish,
    raw,
    refuse,
    run_virtual,
    say,
    stall,
    think,
    turn,
    wait,
)
from headrace.transport import NEVER, HTTPCall, RetryPolicy, StreamBroken, Transport
from headrace.turn.open_turn import open_turn
from headrace.wire.decoder import Decoder
from headrace.wire.framing.grpc import add_prefix
from tests.aws import aws_message
from tests.grammar import check_grammar
from tests.rehearsal.scripts import FRAMINGS, MODELS, traits_of

KEY = "sk-test-0123456789"
CALL = HTTPCall(url="http://x.test/v1", headers={"authorization": f"Bearer {KEY}"}, body=b"{}")
UNREADABLE = {"xai": add_prefix(b"{]}"), "bedrock": aws_message(b"{]}"), "ollama": b"{]}\n"}
each_dialect = pytest.mark.parametrize("dialect", MODELS)


@pytest.fixture(autouse=True)
def region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def scripted(*turns: Any, dialect: str = "chat", **options: Any) -> ScriptedTransport:
    return ScriptedTransport(turns, dialect=dialect, **options)


def ask(script: ScriptedTransport, dialect: str = "chat", text: str = "Why?") -> Message:
    async def run() -> Message:
        result = await headrace.complete_async(
            MODELS[dialect], text, transport=script, api_key=KEY, policy=NEVER
        )
        return result.message

    return run_virtual(run())


# --- end to end -------------------------------------------------------------------


@each_dialect
def test_a_turn_goes_all_the_way(dialect: str) -> None:
    script = scripted(
        turn(think("Let me see.", title="Reading"), say("Two."), call("add", a=1, b=1)),
        dialect=dialect,
    )
    message = ask(script, dialect)
    assert message.reasoning == "**Reading**\n\nLet me see."
    assert message.text == "Two."
    assert [(part.name, part.args) for part in message.calls] == [("add", {"a": 1, "b": 1})]
    assert (str(message.finish), message.error) == ("tool_use", None)
    assert script.open_streams == 0


@each_dialect
def test_every_event_is_one_read_and_the_grammar_holds(dialect: str) -> None:
    async def run() -> list[ev.TurnEvent]:
        script = scripted(["one two three", call("f"), call("g")], dialect=dialect)
        decoder = Decoder(dialect, framing=FRAMINGS.get(dialect, "sse"))
        opened = await open_turn(script, CALL, lambda: decoder, NEVER)
        batches = [events async for events in opened]
        assert script.open_streams == 0
        return [event for events in batches for event in events]

    events = run_virtual(run())
    check_grammar(events)
    assert sum(isinstance(event, ev.TextDelta) for event in events) == 3


@each_dialect
@pytest.mark.parametrize(
    ("line", "category"),
    [
        (cut(), "network"),
        (no_finish(), "incomplete"),
        (error("overloaded", "no"), "overloaded"),
        (raw(b"data: {]}\n\n"), None),
    ],
)
def test_faults_are_failures_and_what_came_before_stays(
    dialect: str, line: Any, category: str | None
) -> None:
    if category is None:
        line = raw(UNREADABLE.get(dialect, b"data: {]}\n\n"))
    if category == "overloaded" and not traits_of(dialect).has_error_codes:
        category = "unknown"
    script = scripted([think("Hm."), say("half an"), line], dialect=dialect)
    message = ask(script, dialect)
    assert (message.reasoning, message.text) == ("Hm.", "half an")
    assert (message.error and message.error.category) == category
    assert script.open_streams == 0


@each_dialect
def test_a_break_after_the_reason_is_an_end_like_any_other(dialect: str) -> None:
    message = ask(scripted(["Hi", finish("end_turn"), cut()], dialect=dialect), dialect)
    assert (message.text, message.error) == ("Hi", None)


@each_dialect
def test_a_refusal_is_read_as_the_answer_of_its_status(dialect: str) -> None:
    with pytest.raises(RequestFailed, match="Slow down") as caught:
        ask(scripted([refuse(429, "Slow down", retry_after_s=2)], dialect=dialect), dialect)
    failed = caught.value
    assert (failed.status, failed.category) == (429, "rate_limit")
    assert (failed.retryable, failed.retry_after_s) == (True, 2)


@each_dialect
def test_a_refusal_can_be_of_any_category(dialect: str) -> None:
    overflow = refuse(400, "too many", category="context_overflow")
    with pytest.raises(RequestFailed) as caught:
        ask(scripted([overflow], dialect=dialect), dialect)
    assert (caught.value.category, caught.value.retryable) == ("context_overflow", False)
    with pytest.raises(RequestFailed) as caught:
        ask(scripted([wait(9), refuse(None, "no route")], dialect=dialect), dialect)
    assert (caught.value.category, caught.value.status) == ("network", None)


def test_a_refusal_is_tried_again_by_the_policy() -> None:
    async def run() -> tuple[str, float]:
        script = scripted([refuse(503)], [error("overloaded")], "At last.")
        message = await headrace.complete_async(
            "vllm:m", "Why?", transport=script, policy=RetryPolicy(base_s=2, jitter=0)
        )
        assert script.opened == 3
        return message.text, asyncio.get_running_loop().time()

    text, seconds = run_virtual(run())
    assert text == "At last."
    assert seconds == pytest.approx(2 + 4)


# --- time -------------------------------------------------------------------------


async def reads_of(transport: Transport) -> list[bytes]:
    return [read async for read in await transport.open(CALL)]


def test_waits_take_their_time() -> None:
    async def run() -> float:
        await reads_of(scripted([wait(5), "Hi", wait(60)]))
        return asyncio.get_running_loop().time()

    assert run_virtual(run()) == pytest.approx(65)


def test_a_sleep_of_the_callers_is_used() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    asyncio.run(reads_of(scripted([wait(5), "Hi"], sleep=sleep)))
    assert slept[0] == 5
    assert set(slept[1:]) == {0}


@pytest.mark.parametrize("line", [stall(), wait(3600)])
def test_closing_ends_a_stream_at_once_for_whoever_waits(line: Any) -> None:
    async def run() -> float:
        script = scripted(["Hi", line])
        stream = await script.open(CALL)
        reader = asyncio.create_task(_drained(stream))
        await asyncio.sleep(1)
        assert script.open_streams == 1
        await stream.aclose()
        await reader
        await stream.aclose()
        assert script.open_streams == 0
        return asyncio.get_running_loop().time()

    assert run_virtual(run()) == pytest.approx(1)


async def _drained(stream: Any) -> list[bytes]:
    return [read async for read in stream]


def test_after_closing_no_read_comes() -> None:
    async def run() -> list[bytes]:
        stream = await scripted("Hi there").open(CALL)
        await anext(aiter(stream))
        await stream.aclose()
        return await _drained(stream)

    assert run_virtual(run()) == []


def test_deadlines_are_kept_where_they_are_asked_for() -> None:
    async def first() -> None:
        script = scripted([wait(99), "Hi"], first_event_s=10)
        with pytest.raises(RequestFailed, match="first_event_s"):
            await open_turn(script, CALL, lambda: Decoder("chat"), NEVER)
        assert asyncio.get_running_loop().time() == pytest.approx(10)
        assert script.open_streams == 0

    async def idle() -> None:
        script = scripted(["Hi", stall()], idle_s=20)
        with pytest.raises(StreamBroken, match="idle_s=20"):
            await reads_of(script)
        assert asyncio.get_running_loop().time() == pytest.approx(20)
        assert script.open_streams == 0

    run_virtual(first())
    run_virtual(idle())


def test_a_turn_that_is_left_early_leaves_nothing_open() -> None:
    async def run() -> None:
        script = scripted(["Hi", stall()])
        async with headrace.stream("vllm:m", "Why?", transport=script) as events:
            async for event in events:
                if isinstance(event, ev.TextDelta):
                    break
        assert script.open_streams == 0

    run_virtual(run())


# --- turns and requests -----------------------------------------------------------


@each_dialect
def test_turns_are_played_in_order_and_then_it_says_so(dialect: str) -> None:
    script = scripted("one", ["two"], turn("three"), dialect=dialect)
    assert [ask(script, dialect).text for _ in range(3)] == ["one", "two", "three"]
    with pytest.raises(UsageError, match="3 turns"):
        ask(script, dialect)


@each_dialect
def test_requests_are_kept_without_keys(dialect: str) -> None:
    script = scripted("one", dialect=dialect)
    ask(script, dialect, "What is kept?")
    assert len(script.requests) == 1
    assert "What is kept?" in str(script.requests[0])
    assert KEY not in str(vars(script))


@each_dialect
def test_a_function_hears_and_answers_many_at_once(dialect: str) -> None:
    def echo(heard: Heard) -> ScriptedTurn:
        return turn(wait(1), f"You said {heard.user}.")

    async def run() -> list[str]:
        script = ScriptedTransport(echo, dialect=dialect, keeps_requests=False)
        model = MODELS[dialect]
        asked = [
            headrace.complete_async(model, f"n{n}", transport=script, api_key=KEY)
            for n in range(50)
        ]
        messages = await asyncio.gather(*asked)
        assert (script.open_streams, script.requests) == (0, [])
        assert asyncio.get_running_loop().time() == pytest.approx(1)
        return [message.text for message in messages]

    assert run_virtual(run()) == [f"You said n{n}." for n in range(50)]


def test_call_ids_differ_between_the_turns_of_a_conversation() -> None:
    script = scripted([call("f")], [call("f")])
    first, second = ask(script), ask(script)
    assert first.calls[0].call_id != second.calls[0].call_id


def test_an_unknown_dialect_is_said_at_once() -> None:
    with pytest.raises(UsageError, match="klingon"):
        scripted(dialect="klingon")

"""A fallback: which model is asked, which is skipped, and what is told about it."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from headrace import Agent, Fallback, FallbackEntry, RequestFailed, Switch, UsageError, stream
from headrace import events as ev
from headrace.testing import (
    ScriptedTransport,
    call,
    cut,
    error,
    refuse,
    run_virtual,
    say,
    turn,
)
from headrace.transport.retry import NEVER
from headrace.turn import complete, complete_async
from headrace.turn.circuit_breaker import CircuitBreaker

CLAUDE, GPT, CHAT = "anthropic:claude-sonnet-4-5", "openai:gpt-5", "openai-chat:gpt-5-mini"
DIALECTS = {CLAUDE: "anthropic", GPT: "responses", CHAT: "chat"}
KEY = "sk-very-secret-key-0123456789"
BUSY = refuse(529, "Overloaded.")


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def entry(model: str, *turns: Any, **options: Any) -> tuple[FallbackEntry, ScriptedTransport]:
    transport = ScriptedTransport(list(turns), dialect=DIALECTS[model])
    return FallbackEntry(model, api_key=KEY, transport=transport, **options), transport


# --- the circuit breaker --------------------------------------------------------------------


def test_a_breaker_opens_after_failures_in_a_row_and_lets_one_probe_through() -> None:
    clock = Clock()
    breaker = CircuitBreaker(2, 30, clock)
    breaker.fail()
    breaker.succeed()
    breaker.fail()
    assert breaker.allow(), "the failures were not in a row"
    breaker.fail()
    assert not breaker.allow()
    clock.now_s = 29.9
    assert not breaker.allow()
    clock.now_s = 30
    assert breaker.allow(), "the probe"
    assert not breaker.allow(), "only one probe"
    breaker.fail()
    clock.now_s = 59.9
    assert not breaker.allow()
    clock.now_s = 60
    assert breaker.allow()
    breaker.succeed()
    assert breaker.allow()
    assert breaker.allow()


def test_a_probe_that_never_reports_is_replaced() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 30, clock)
    breaker.fail()
    clock.now_s = 30
    assert breaker.allow()
    clock.now_s = 60
    assert breaker.allow()


def test_a_model_that_keeps_failing_is_skipped_and_tried_again() -> None:
    clock = Clock()
    first, first_transport = entry(CLAUDE, *[turn(BUSY)] * 3, turn(say("Back.")))
    second, _ = entry(GPT, *[turn(say("Here."))] * 9)
    models = Fallback(first, second, failures=3, pause_s=30, clock=clock)
    for _ in range(5):
        assert complete(models, "Hi").text == "Here."
    assert first_transport.opened == 3
    assert models.is_skipped(0)
    clock.now_s = 31
    assert complete(models, "Hi").text == "Back."
    assert not models.is_skipped(0)


def test_if_all_are_skipped_the_first_is_asked_all_the_same() -> None:
    first, first_transport = entry(CLAUDE, turn(BUSY), turn(say("Back.")))
    second, _ = entry(GPT, turn(BUSY))
    models = Fallback(first, second, failures=1)
    with pytest.raises(RequestFailed):
        complete(models, "Hi", policy=NEVER)
    assert complete(models, "Hi", policy=NEVER).text == "Back."
    assert first_transport.opened == 2


# --- one turn -------------------------------------------------------------------------------


@pytest.mark.parametrize("first", DIALECTS)
@pytest.mark.parametrize("second", DIALECTS)
@pytest.mark.parametrize("fault", [BUSY, error("overloaded"), refuse(429, "Slow down."), cut()])
def test_a_fault_before_the_first_event_asks_the_next_model(
    first: str, second: str, fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    failing, failed = entry(first, turn(fault))
    answering, _ = entry(second, turn(say("Hello.")))
    models = Fallback(failing, answering)
    with stream(models, "Hi") as answer:
        events = list(answer)
    assert failed.opened == 1, "no second attempt while there is another model"
    assert sum(isinstance(event, ev.TurnStarted) for event in events) == 1
    start = events[0]
    assert isinstance(start, ev.TurnStarted)
    assert start.provider == second.partition(":")[0]
    assert answer.message.turns[0].provider == start.provider
    assert answer.result.text == "Hello."
    (switch,) = answer.result.switches
    assert (switch.failed, switch.next, switch.is_late) == (first, second, False)
    assert models.switches == {switch: 1}
    (logged,) = [
        record for record in caplog.records if vars(record).get("event") == "model_switched"
    ]
    assert first in logged.getMessage()
    assert second in logged.getMessage()
    assert KEY not in caplog.text


@pytest.mark.parametrize("model", DIALECTS)
def test_a_fault_after_the_first_event_of_a_stream_is_told(model: str) -> None:
    failing, _ = entry(model, turn(say("Hel"), cut()))
    answering, unused = entry(CHAT, turn(say("Hello.")))
    with stream(Fallback(failing, answering), "Hi") as answer:
        events = list(answer)
    assert isinstance(events[-1], ev.TurnFailed)
    assert answer.error is not None
    assert unused.opened == 0
    assert answer.result.switches == ()


def test_an_error_that_is_not_named_is_raised() -> None:
    failing, _ = entry(CLAUDE, turn(refuse(401, "Who are you?")))
    answering, unused = entry(GPT, turn(say("Hello.")))
    with pytest.raises(RequestFailed) as raised:
        complete(Fallback(failing, answering), "Hi")
    assert raised.value.category == "auth"
    assert unused.opened == 0
    again, _ = entry(CLAUDE, turn(refuse(401, "Who are you?")))
    assert complete(Fallback(again, answering, on=["auth"]), "Hi").text == "Hello."


def test_if_all_fail_the_last_error_is_raised_with_those_before() -> None:
    models = Fallback(
        entry(CLAUDE, turn(BUSY))[0],
        entry(CHAT, turn(refuse(500, "Broken.")))[0],
        entry(GPT, turn(refuse(429, "Slow down.")))[0],
    )
    with pytest.raises(RequestFailed) as raised:
        complete(models, "Hi", policy=NEVER)
    assert raised.value.category == "rate_limit"
    (note,) = raised.value.__notes__
    assert f"{CLAUDE}: overloaded" in note
    assert f"{CHAT}: server" in note


def test_the_last_model_is_retried_by_the_policy() -> None:
    failing, failed = entry(CLAUDE, turn(BUSY))
    patient, asked = entry(GPT, turn(BUSY), turn(say("Hello.")))

    async def main() -> str:
        return (await complete_async(Fallback(failing, patient), "Hi")).text

    assert run_virtual(main()) == "Hello."
    assert (failed.opened, asked.opened) == (1, 2)


def test_every_entry_has_its_own_options() -> None:
    failing, first = entry(CLAUDE, turn(BUSY), max_tokens=77)
    answering, second = entry(CHAT, turn(say("Hello.")), temperature=0.5)
    complete(Fallback(failing, answering), "Hi", max_tokens=500)
    assert first.requests[0]["max_tokens"] == 77
    assert second.requests[0]["max_completion_tokens"] == 500
    assert second.requests[0]["temperature"] == 0.5
    assert first.requests[0]["model"] == "claude-sonnet-4-5"
    assert second.requests[0]["model"] == "gpt-5-mini"


class City(msgspec.Struct):
    name: str


def test_a_typed_answer_is_read_in_the_way_of_the_model_that_gave_it() -> None:
    """The first takes a schema; the second is asked by a tool, and is corrected itself."""
    failing, _ = entry(GPT, turn(BUSY), turn(BUSY))

    def answers() -> ScriptedTransport:
        return ScriptedTransport(
            [turn(call("final_answer", name=7)), turn(call("final_answer", name="Oslo"))]
        )

    asked = answers()
    models = Fallback(
        failing, FallbackEntry("deepseek:deepseek-chat", api_key=KEY, transport=asked)
    )
    result = complete(models, "Which?", output_type=City)
    assert result.output == City("Oslo")
    assert len(result.switches) == 1
    assert asked.opened == 2
    right = ScriptedTransport([turn(call("final_answer", name="Oslo"))])
    models = Fallback(
        failing, FallbackEntry("deepseek:deepseek-chat", api_key=KEY, transport=right)
    )
    with stream(models, "Which?", output_type=City) as answer:
        values = [dict(value) for value in answer.partial()]
    assert values[-1] == {"name": "Oslo"}
    assert answer.output == City("Oslo")


# --- checks before anything is sent ---------------------------------------------------------


def test_an_option_that_a_later_provider_refuses_is_named_at_once() -> None:
    answering, transport = entry(CHAT, turn(say("Hello.")))
    models = Fallback(answering, FallbackEntry("deepseek:deepseek-chat", api_key=KEY))
    match = r"entry 2 of the fallback, deepseek:deepseek-chat: .*seed"
    with pytest.raises(UsageError, match=match):
        complete(models, "Hi", seed=7)
    agent = Agent(models, seed=7)
    with pytest.raises(UsageError, match=match):
        agent.check()
    with pytest.raises(UsageError, match=match):
        agent.run("Hi")
    assert transport.opened == 0


def test_a_missing_key_of_a_later_entry_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"entry 2 of the fallback, openai:gpt-5: no key"):
        complete(Fallback(entry(CLAUDE)[0], GPT), "Hi")


@pytest.mark.parametrize("name", ["api_key", "base_url"])
def test_keys_and_addresses_belong_to_entries(name: str) -> None:
    given: dict[str, Any] = {name: "x"}
    with pytest.raises(UsageError, match=f"{name} is different for each model"):
        complete(Fallback(CLAUDE, GPT), "Hi", **given)


def test_a_fallback_needs_models_and_known_categories() -> None:
    with pytest.raises(UsageError, match="at least one model"):
        Fallback()
    with pytest.raises(UsageError, match="no error category 'busy'"):
        Fallback(GPT, on=["busy"])  # type: ignore[list-item]


def test_one_category_needs_no_list() -> None:
    assert Fallback("vllm:a", "vllm:b", on="overloaded").on == {"overloaded"}


def test_a_fallback_never_shows_a_key() -> None:
    models = Fallback(entry(CLAUDE)[0], entry(GPT)[0])
    assert KEY not in f"{models!r} {models} {models.entries}"
    assert str(models) == f"{CLAUDE} → {GPT}"
    assert Switch(failed=CLAUDE, next=GPT, category="server") in {
        Switch(failed=CLAUDE, next=GPT, category="server")
    }

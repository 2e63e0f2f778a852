"""Results that come from outside, and questions of tools that run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import AlreadyAnswered, Run, RunLimits
from headrace.errors import UsageError
from headrace.messages import InputRequest
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ExternalTool, InputDenied, ToolContext, tool
from tests.engine.input.asking import agent_on, events_of, play, read, results_of, texts_of
from tests.engine.play import clock

FORM = {
    "type": "object",
    "properties": {"size": {"type": "integer"}},
    "required": ["size"],
}
TOOLS = {
    "result": ExternalTool(name="outside", description="Read the page."),
    "form": ExternalTool(name="outside", description="Fill in.", kind="form", schema=FORM),
    "text": ExternalTool(name="outside", description="Say it.", kind="text"),
}
CALLS = [turn(call("outside", question="Which size?")), turn(say("Done."))]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("result", {"title": "Tides"}, '{"title":"Tides"}'),
        ("result", "plain", "plain"),
        ("form", {"size": 4}, '{"size":4}'),
        ("text", "the big one", "the big one"),
    ],
)
def test_the_result_of_a_call_comes_from_outside(kind: str, value: Any, text: str) -> None:
    script = ScriptedTransport(CALLS)
    asked: list[InputRequest] = []

    def answer(request: InputRequest) -> dict[str, Any]:
        asked.append(request)
        return {"value": value}

    run = play(agent_on(script, TOOLS[kind]), answer)
    assert (asked[0].kind, asked[0].message) == (kind, "Which size?")
    assert asked[0].schema == TOOLS[kind].schema
    assert script.requests[-1]["messages"][-1]["content"] == text
    assert events_of(run, ev.ToolStarted) == [], "nothing of it runs here"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("form", None), ("form", {}), ("form", {"size": "big"}), ("form", "4"),
        ("text", None), ("text", 4), ("text", {"size": 4}),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused_and_the_request_stays_open(
    kind: str, value: Any
) -> None:
    async def main() -> Run[Any]:
        async with agent_on(CALLS, TOOLS[kind]).run("Ask.") as run:
            async for event in run:
                if isinstance(event, ev.InputRequested):
                    with pytest.raises(UsageError):
                        run.answer(event.request_id, value=value)
                    assert [r.request_id for r in run.requests] == [event.request_id]
                    good = {"size": 4} if kind == "form" else "four"
                    run.answer(event.request_id, value=good)
        return run

    run = run_virtual(main())
    assert run.result.text == "Done."
    assert len(events_of(run, ev.InputAnswered)) == 1


def test_a_refusal_to_give_a_result_is_an_error_result() -> None:
    run = play(
        agent_on(CALLS, TOOLS["text"]), lambda _: {"decision": "denied", "reason": "Not now."}
    )
    assert "Not now." in texts_of(run.message)[0]
    assert results_of(run.message)[0].is_error


def test_a_form_needs_a_schema() -> None:
    with pytest.raises(UsageError, match="needs a schema"):
        ExternalTool(name="outside", description="Fill in.", kind="form")


# --- questions of a running tool -----------------------------------------------------------


def test_a_running_tool_asks_and_its_time_stands_still_meanwhile() -> None:
    said: list[Any] = []

    @tool(timeout_s=10)
    async def book(context: ToolContext) -> str:
        """Book."""
        await asyncio.sleep(6)
        said.append(await context.ask("Which one?"))
        said.append(await context.ask("How big?", FORM))
        await asyncio.sleep(3)
        return "booked"

    def answer(request: InputRequest) -> dict[str, Any]:
        return {"value": "the second" if request.kind == "text" else {"size": 2}}

    async def main() -> Run[Any]:
        agent = agent_on([turn(call("book")), turn(say("Done."))], book)
        return await read(agent.run("Book.", clock=clock()), answer, after_s=3600)

    run = run_virtual(main())
    assert said == ["the second", {"size": 2}]
    assert texts_of(run.message) == ["booked"]


def test_the_time_of_a_tool_goes_on_after_its_question() -> None:
    @tool(timeout_s=10)
    async def book(context: ToolContext) -> str:
        """Book."""
        await asyncio.sleep(6)
        await context.ask("Which one?")
        await asyncio.sleep(5)
        return "booked"

    run = play(agent_on([turn(call("book")), turn(say("Done."))], book))
    assert "took longer than 10 s" in texts_of(run.message)[0]


def test_the_same_question_twice_is_two_questions() -> None:
    said: list[Any] = []

    @tool
    async def book(context: ToolContext) -> None:
        """Book."""
        said.append(await context.ask("And?"))
        said.append(await context.ask("And?"))

    numbers = iter("12")
    play(
        agent_on([turn(call("book")), turn(say("Done."))], book),
        lambda _: {"value": next(numbers)},
    )
    assert said == ["1", "2"]


def test_a_question_that_is_refused_raises_in_the_tool() -> None:
    @tool
    async def book(context: ToolContext) -> str:
        """Book."""
        try:
            await context.ask("Which one?")
        except InputDenied as denied:
            return f"without: {denied}"
        return "booked"

    run = play(
        agent_on([turn(call("book")), turn(say("Done."))], book),
        lambda _: {"decision": "denied", "reason": "none of your business"},
    )
    assert texts_of(run.message) == ["without: none of your business"]


# --- expiry --------------------------------------------------------------------------------


def _leave_open(_: InputRequest) -> None:
    return None


def test_an_expired_request_ends_the_run() -> None:
    limits = RunLimits(input_timeout_s=86_400)
    script = ScriptedTransport(CALLS)
    run = play(agent_on(script, TOOLS["text"], limits=limits), _leave_open)
    reason = run.result.finish
    assert reason is not None
    assert reason.kind == "timeout"
    assert events_of(run, ev.InputAnswered)[0].decision == "expired"
    assert events_of(run, ev.InputRequested)[0].expires_at_ms == 86_400_000
    assert run.records_so_far[-1].at_ms >= 86_400_000
    assert script.opened == 1, "the model is not asked again"
    assert results_of(run.message)[0].is_error


def test_a_run_may_go_on_after_a_request_has_expired() -> None:
    limits = RunLimits(input_timeout_s=86_400, on_expiry="continue")
    run = play(agent_on(CALLS, TOOLS["text"], limits=limits), _leave_open)
    assert run.result.text == "Done."
    assert "Nobody answered in time" in texts_of(run.message)[0]


def test_the_time_of_the_request_itself_counts_first() -> None:
    external = ExternalTool(name="outside", description="Say it.", kind="text", expires_in_s=60)
    limits = RunLimits(input_timeout_s=86_400, on_expiry="continue")
    run = play(agent_on(CALLS, external, limits=limits), _leave_open)
    assert events_of(run, ev.InputRequested)[0].expires_at_ms == 60_000
    assert run.records_so_far[-1].at_ms < 86_400_000


def test_a_request_without_a_time_does_not_expire() -> None:
    async def main() -> Run[Any]:
        agent = agent_on(CALLS, TOOLS["text"])
        return await read(
            agent.run("Ask.", clock=clock()), lambda _: {"value": "late"}, after_s=1e7
        )

    run = run_virtual(main())
    assert texts_of(run.message) == ["late"]


def test_a_question_is_over_when_its_tool_has_stopped_waiting() -> None:
    @tool
    async def impatient(context: ToolContext) -> str:
        """Ask, and do not wait for long."""
        with suppress(TimeoutError):
            return str(await asyncio.wait_for(context.ask("Which one?"), 5))
        return "nobody said"

    agent = agent_on([turn(call("impatient")), turn(say("Done."))], impatient)
    run = play(agent, lambda _: None)
    assert texts_of(run.message) == ["nobody said"]
    (asked,) = events_of(run, ev.InputRequested)
    (answered,) = events_of(run, ev.InputAnswered)
    assert (answered.request_id, answered.decision) == (asked.request_id, "expired")
    assert run.requests == []
    with pytest.raises(AlreadyAnswered, match="already expired"):
        run.answer(asked.request_id, value="the first")

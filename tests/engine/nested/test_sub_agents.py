"""Sub-agents: agents that another agent calls as tools."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.engine import Agent, Middleware, Redaction, Run, RunLimits, RunView
from headrace.events import Event
from headrace.messages import fold
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, refuse, say, turn, usage
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import tool
from tests.engine.input.asking import agent_on, events_of, play, resume, texts_of
from tests.engine.play import clock
from tests.engine.resume.scenes import check_log

SECRET = "sk-proj-" + "a1B2c3D4" * 6


@tool
async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(10)
    return "slept"


def once(*lines: Any, then: str = "Found.") -> Any:
    """Return a model that plays the lines, and answers when it has a result."""

    def answer(heard: Heard) -> ScriptedTurn:
        has_result = any(message.result is not None for message in heard.messages)
        return turn(say(then), pace_s=1.0) if has_result else turn(*lines, pace_s=1.0)

    return answer


def outer(
    *helpers: Any, calls: int = 1, turns: int = 1, name: str = "helper", **options: Any
) -> Agent[Any]:
    """Return an agent that calls its sub-agent."""
    asks = [
        turn(*(call(name, task=f"task {n}", call_id=f"h{n}") for n in range(calls)))
        for _ in range(turns)
    ]
    return agent_on([*asks, turn(say("Done."))], *helpers, **options)


def test_usage_comes_up() -> None:
    nested = agent_on([turn(say("Found."), usage(input=7, output=5))] * 2)
    agent = agent_on(
        [
            turn(call("helper", task="a"), call("helper", task="b"), usage(input=10, output=1)),
            turn(say("Done."), usage(input=20, output=2)),
        ],
        nested.as_tool("helper", "Help."),
    )
    run = play(agent)
    assert (run.result.usage.input_tokens, run.result.usage.output_tokens) == (44, 13)
    own = [t.usage.input_tokens for t in run.message.turns]
    assert own == [10, 20], "turns have their own usage"


def test_the_answer_is_the_result_and_the_message_is_kept_with_it() -> None:
    script = ScriptedTransport([turn(call("helper", task="Look.")), turn(say("Done."))])
    nested = ScriptedTransport(once(call("slow")))
    run = play(agent_on(script, agent_on(nested, slow).as_tool("helper", "Help.")))
    assert "Look." in str(nested.requests[0])
    assert texts_of(run.message) == ["Found."]
    message = run.message.turns[0].results[0].message
    assert message is not None
    assert texts_of(message) == ["slept"]
    assert "slept" not in str(script.requests[-1]), "the outer model gets the answer alone"
    check_log(run.records_so_far, "chat")


@pytest.mark.parametrize("at_s", [number / 2 for number in range(30)])
def test_cancel_goes_down_and_every_call_is_answered(at_s: float) -> None:
    inner = agent_on(once(call("slow"), call("slow")), slow)
    middle = agent_on(
        once(call("inner", task="x"), call("slow")), slow, inner.as_tool("inner", "I")
    )
    agent = outer(middle.as_tool("helper", "Help."), calls=2)

    async def main() -> Run[Any]:
        async with agent.run("Plan the trip.", clock=clock()) as run:
            asyncio.get_running_loop().call_later(at_s, run.cancel)
            await run.wait()
        return run

    run = run_virtual(main())
    records = run.records_so_far
    check_log(records, "chat")
    calls = Counter(
        r.path for r in records if isinstance(r.event, ev.ToolCallFinished | ev.ToolCallMalformed)
    )
    assert calls == Counter(r.path for r in records if isinstance(r.event, ev.ToolResult))
    assert run.result.finish is not None
    assert run.result.finish.kind == "cancelled"


def test_depth_is_limited() -> None:
    agent = agent_on(once(call("slow")), slow)
    for _ in range(5):
        agent = agent_on(once(call("deeper", task="x")), agent.as_tool("deeper", "Deeper."))
    agent.limits = RunLimits(max_depth=2)
    run = play(agent)
    assert max(len(record.path) for record in run.records_so_far) == 2
    refused = [r for r in events_of(run, ev.ToolResult) if "max_depth=2" in str(r.content)]
    assert len(refused) == 1
    check_log(run.records_so_far, "chat")


def test_the_number_of_nested_runs_is_limited_over_all_levels() -> None:
    inner = agent_on(lambda _: turn(say("Found.")))
    middle = agent_on(once(call("inner", task="x")), inner.as_tool("inner", "Inner."))
    agent = outer(middle.as_tool("helper", "Help."), calls=4, limits=RunLimits(max_nested_runs=5))
    run = play(agent)
    nested = [r for r in run.records_so_far if r.path and isinstance(r.event, ev.RunStarted)]
    assert len(nested) == 5
    assert "max_nested_runs=5" in str(events_of(run, ev.ToolResult))


def test_the_number_of_nested_runs_counts_those_before_a_resume() -> None:
    def agent(turns: int) -> Agent[Any]:
        nested = agent_on(lambda _: turn(say("Found.")))
        limits = RunLimits(max_nested_runs=2)
        return outer(nested.as_tool("helper", "Help."), turns=turns, limits=limits)

    records = play(agent(4)).records_so_far
    second = [n for n, r in enumerate(records) if isinstance(r.event, ev.StepFinished)][3]
    assert not records[second].path
    run = resume(agent(2), records[: second + 1])
    nested = [r for r in run.records_so_far if r.path and isinstance(r.event, ev.RunStarted)]
    assert len(nested) == 2


def test_a_sub_agent_that_takes_too_long_is_closed() -> None:
    nested = agent_on(once(call("slow")), slow)
    run = play(outer(nested.as_tool("helper", "Help.", timeout_s=5)))
    assert "took longer than 5 s" in texts_of(run.message)[0]
    assert run.result.text == "Done."
    check_log(run.records_so_far, "chat")


def test_a_sub_agent_may_be_called_so_often() -> None:
    nested = agent_on(lambda _: turn(say("Found.")))
    limits = RunLimits(max_calls={"helper": 3})
    run = play(outer(nested.as_tool("helper", "Help."), calls=2, turns=2, limits=limits))
    texts = texts_of(run.message)
    assert texts[:3] == ["Found."] * 3
    assert "may be called 3 times" in texts[3]


class Trip(msgspec.Struct):
    """A trip."""

    town: str
    days: int


def test_typed_input_is_checked_and_given_as_json() -> None:
    nested = ScriptedTransport(lambda _: turn(say("Found.")))
    helper = agent_on(nested).as_tool("helper", "Help.", input_type=Trip)
    good, bad = {"town": "Ghent", "days": 2}, {"town": "Ghent", "days": "two"}
    script = [turn(call("helper", input=good), call("helper", input=bad)), turn(say("Done."))]
    run = play(agent_on(script, helper))
    assert nested.opened == 1
    assert "Ghent" in str(nested.requests[0]["messages"])
    first, second = texts_of(run.message)
    assert first == "Found."
    assert "do not fit" in second
    assert not any(record.path == (run.message.calls[1].call_id,) for record in run.records_so_far)


def test_typed_output_is_the_result() -> None:
    nested = agent_on([turn(say('{"town": "Ghent", "days": 2}'))], output_type=Trip)
    script = ScriptedTransport([turn(call("helper", task="x")), turn(say("Done."))])
    play(agent_on(script, nested.as_tool("helper", "Help.")))
    assert script.requests[-1]["messages"][-1]["content"] == '{"town":"Ghent","days":2}'


def test_the_error_of_a_sub_agent_is_an_error_result() -> None:
    nested = agent_on([turn(refuse(500, "Out of order."))])
    run = play(outer(nested.as_tool("helper", "Help.")))
    (result,) = run.message.turns[0].results
    assert result.is_error
    assert "Out of order." in texts_of(run.message)[0]
    assert run.result.text == "Done.", "the outer run goes on"
    check_log(run.records_so_far, "chat")


def test_a_sub_agent_that_reaches_a_limit_is_an_error_result() -> None:
    nested = agent_on(lambda _: turn(call("slow")), slow, limits=RunLimits(max_iterations=2))
    run = play(outer(nested.as_tool("helper", "Help.")))
    assert "max_iterations=2" in texts_of(run.message)[0]
    check_log(run.records_so_far, "chat")


def test_redaction_of_the_outer_agent_covers_nested_events() -> None:
    @tool
    async def leak() -> str:
        """Leak."""
        return f"the key is {SECRET}"

    nested = agent_on(once(say(f"Take {SECRET}."), call("leak"), then=f"It is {SECRET}."), leak)
    seen: list[tuple[tuple[str, ...], Event]] = []

    class Watch(Middleware):
        def rewrite_event(self, run: RunView, event: Event) -> Event:
            seen.append((run.path, event))
            return event

    script = ScriptedTransport(
        [turn(call("helper", task="a", call_id="h"))] * 2 + [turn(say("Done."))]
    )
    agent = agent_on(script, nested.as_tool("helper", "Help."), middleware=[Watch(), Redaction()])
    run = play(agent)
    assert any(path == ("h",) and SECRET in str(event) for path, event in seen)
    assert any(record.path for record in run.records_so_far)
    assert SECRET not in str(run.records_so_far)
    assert SECRET not in str(run.message)
    assert SECRET not in str(script.requests)
    check_log(run.records_so_far, "chat")


def test_two_turns_that_use_the_same_call_id() -> None:
    nested = agent_on(once(call("slow", call_id="s")), slow)
    run = play(outer(nested.as_tool("helper", "Help."), turns=3))
    assert texts_of(run.message) == ["Found."] * 3
    messages = [t.results[0].message for t in run.message.turns[:3]]
    assert all(m is not None and texts_of(m) == ["slept"] for m in messages)
    check_log(run.records_so_far, "chat")
    for stop in range(1, len(run.records_so_far)):
        before = run.records_so_far[:stop]
        left = 3 - sum(isinstance(r.event, ev.TurnFinished) and not r.path for r in before)
        turns: list[Any] = [
            turn(call("helper", task="x", call_id="h0")) for _ in range(max(left, 0))
        ]
        script = [*turns, turn(say("Done."))]
        again = agent_on(once(call("slow", call_id="s")), slow).as_tool("helper", "Help.")
        if left < 0:
            continue
        after = resume(agent_on(script, again), before)
        check_log(after.records_so_far, "chat")
        assert texts_of(after.message) == ["Found."] * 3
        assert fold(after.records_so_far) == after.message

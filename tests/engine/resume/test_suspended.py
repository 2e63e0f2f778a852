"""Runs that are suspended while they wait, and continued later, by another process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Agent, AlreadyAnswered, Middleware, Run
from headrace.errors import InputRequired, UsageError
from headrace.events import Record
from headrace.messages import fold
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ExternalTool, ToolContext, tool
from tests.engine.input.asking import (
    QUESTION,
    agent_on,
    events_of,
    play,
    resume,
    texts_of,
)
from tests.engine.input.test_approvals import PAYS, Till
from tests.engine.resume.scenes import check_log, through_json


def _leave_open(_: Any) -> None:
    return None


def test_complete_raises_what_is_needed_and_resume_continues() -> None:
    till = Till(needs_approval=True)
    agent = agent_on(PAYS, till.pay)
    with pytest.raises(InputRequired) as raised:
        agent.complete(QUESTION)
    (request,) = raised.value.requests
    assert (request.name, request.args, request.kind) == ("pay", {"amount": 5}, "approval")
    assert till.paid == []
    with agent.resume(through_json(raised.value.records), input=QUESTION) as run:
        run.answer(request.request_id)
        for _ in run:
            pass
    assert till.paid == [5]
    assert run.result.text == "Done."
    check_log(run.records_so_far, "chat")


def test_complete_async_raises_too() -> None:
    till = Till(needs_approval=True)
    with pytest.raises(InputRequired):
        run_virtual(agent_on(PAYS, till.pay).complete_async(QUESTION))


def test_a_suspended_run_names_all_that_it_waits_for_and_leaves_nothing_running() -> None:
    till, outside = Till(needs_approval=True), ExternalTool(name="page", description="Read.")
    nested = agent_on([turn(call("pay", amount=2))], till.pay).as_tool("helper", "Help.")
    script = [turn(call("pay", amount=1), call("page"), call("helper", task="x"))]
    run = play(agent_on(script, till.pay, outside, nested), _leave_open, suspends=True)
    last = run.records_so_far[-1].event
    assert isinstance(last, ev.RunSuspended)
    assert set(last.waiting) == {event.request_id for event in events_of(run, ev.InputRequested)}
    assert len(last.waiting) == 3
    assert run.is_suspended


def test_a_run_with_a_call_that_runs_is_not_suspended_yet() -> None:
    @tool
    async def slow(context: ToolContext) -> str:
        """Take a while."""
        await asyncio.sleep(100)
        return "slept"

    till = Till(needs_approval=True)
    script = [turn(call("slow"), call("pay", amount=1))]
    run = play(agent_on(script, slow, till.pay), _leave_open, suspends=True)
    kinds = [type(record.event) for record in run.records_so_far]
    assert kinds[-2:] == [ev.ToolResult, ev.RunSuspended]


def test_an_answer_to_a_run_that_was_suspended_must_go_to_the_next_one() -> None:
    till = Till(needs_approval=True)
    run = play(agent_on(PAYS, till.pay), _leave_open, suspends=True)
    with pytest.raises(UsageError, match="resume it"):
        run.answer(run.requests[0].request_id)


class Counting(Middleware):
    """Middleware with a state that records do not tell."""

    is_resumable = False


def test_middleware_that_cannot_be_rebuilt_is_refused() -> None:
    till = Till(needs_approval=True)
    records = play(agent_on(PAYS, till.pay), _leave_open, suspends=True).records_so_far
    agent = agent_on(PAYS, till.pay, middleware=[Counting()])
    assert not agent.is_resumable
    with pytest.raises(UsageError, match="Counting cannot be resumed"):
        agent.resume(records, input=QUESTION)
    with pytest.raises(UsageError, match="Counting cannot be resumed"):
        agent.run(QUESTION, suspends=True)
    assert play(agent).result.text == "Done.", "it may wait in memory"


def test_an_approval_asked_on_monday_is_answered_on_wednesday_by_a_newer_agent() -> None:
    """Meanwhile one tool was renamed and one was added."""
    day_s = 86_400.0
    monday, wednesday = Till(needs_approval=True), Till(needs_approval=True)

    @tool(name="look_up", needs_approval=True)
    async def look_up() -> str:
        """Look it up."""
        return "found"

    @tool(name="search", needs_approval=True)
    async def search() -> str:
        """Look it up."""
        return "found"

    @tool
    async def remember() -> str:
        """Remember."""
        return "remembered"

    async def at(day: float, run: Run[Any], *, answers: bool) -> list[Record]:
        async with run:
            if answers:
                for request in run.requests:
                    value = {"amount": 4} if request.name == "pay" else None
                    run.answer(request.request_id, value=value, by="ann")
            await _read(run)
        return list(run.records_so_far)

    def clock(day: float) -> Any:
        return lambda: (day * day_s + asyncio.get_running_loop().time()) * 1000

    script = [turn(call("pay", amount=5), call("look_up"))]
    old = agent_on(script, monday.pay, look_up)
    records = run_virtual(at(1, old.run(QUESTION, clock=clock(1), suspends=True), answers=False))
    assert isinstance(records[-1].event, ev.RunSuspended)

    transport = ScriptedTransport([turn(call("remember")), turn(say("Done."))])
    new = agent_on(transport, wednesday.pay, search, remember)
    after = run_virtual(at(3, _resume(new, through_json(records), clock(3)), answers=True))
    assert (monday.paid, wednesday.paid) == ([], [4])
    message = fold(after)
    paid, looked, remembered = texts_of(message)
    assert paid == "paid 4"
    assert message.turns[0].results[0].edited_args == {"amount": 4}
    told = [m["content"] for m in transport.requests[0]["messages"] if m["role"] == "tool"]
    assert '"amount":4' in told[0].replace(" ", "")
    assert "No tool 'look_up'" in looked
    assert remembered == "remembered"
    assert message.turns[-1].text == "Done."
    assert [t["function"]["name"] for t in transport.requests[0]["tools"]] == [
        "pay",
        "search",
        "remember",
    ]
    assert after[: len(records)] == records
    assert after[len(records)].at_ms >= 3 * day_s * 1000
    check_log(after, "chat")


def _resume(agent: Agent[Any], records: list[Record], clock: Any) -> Run[Any]:
    return agent.resume(records, input=QUESTION, clock=clock)


async def _read(run: Run[Any]) -> None:
    async for _ in run:
        pass


def test_a_request_that_expired_while_the_run_was_suspended_ends_it() -> None:
    external = ExternalTool(name="page", description="Read.", expires_in_s=60)
    script = [turn(call("page"))]
    records = play(agent_on(script, external), _leave_open, suspends=True).records_so_far

    async def main() -> Run[Any]:
        run = agent_on([], external).resume(records, input=QUESTION, clock=lambda: 61_000)
        async with run:
            await _read(run)
        return run

    run = run_virtual(main())
    assert run.result.finish is not None
    assert run.result.finish.kind == "timeout"
    check_log(run.records_so_far, "chat")


def test_a_run_that_has_ended_cannot_be_resumed() -> None:
    till = Till()
    run = play(agent_on(PAYS, till.pay))
    with pytest.raises(UsageError, match="nothing to resume"):
        resume(agent_on([], till.pay), run.records_so_far)


def test_a_late_answer_is_told_which_one_counted_after_a_resume_and_after_the_end() -> None:
    till = Till(needs_approval=True)
    first = play(agent_on(PAYS, till.pay), lambda _: {"by": "ann"})
    (request,) = events_of(first, ev.InputRequested)
    with pytest.raises(AlreadyAnswered, match="by ann"):
        first.answer(request.request_id)
    ended = next(
        n for n, r in enumerate(first.records_so_far) if isinstance(r.event, ev.StepFinished)
    )

    async def main() -> None:
        agent = agent_on([turn(say("Done."))], till.pay)
        async with agent.resume(first.records_so_far[: ended + 1], input=QUESTION) as run:
            await run.wait()
            with pytest.raises(AlreadyAnswered, match="by ann"):
                run.answer(request.request_id)

    run_virtual(main())

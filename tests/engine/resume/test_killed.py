"""Runs whose process is killed again and again in the same step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from headrace import events as ev
from headrace.engine import Agent
from headrace.events import Record
from headrace.testing import ScriptedTransport, call, run_virtual, say, think, turn
from headrace.tools import tool
from tests.engine.input.asking import QUESTION, agent_on, play, resume
from tests.engine.play import clock
from tests.engine.resume.scenes import check_log, through_json

IsLast = Callable[[Record], bool]


@tool
async def quick() -> str:
    """Be done at once."""
    return "done"


def _agent() -> Agent[Any]:
    return agent_on(lambda _: turn(think("Hm."), say("Done.")))


def _is_text(record: Record) -> bool:
    return isinstance(record.event, ev.TextDelta) and not record.path


def _kill(records: Sequence[Record], is_last: IsLast, after: int) -> list[Record]:
    """Return the records up to the first one after a number that matches."""
    end = next(record.seq for record in records if record.seq > after and is_last(record))
    return through_json(records[:end])


def _kill_often(agent: Agent[Any], is_last: IsLast, times: int) -> list[Record]:
    """Play a run whose process is killed this many times, and return all of its records."""
    records = list(play(agent).records_so_far)
    left: list[Record] = []
    for _ in range(times):
        left = _kill(records, is_last, len(left))
        records = list(resume(agent, left).records_so_far)
    check_log(records, "chat")
    return records


def test_a_run_that_is_killed_twice_in_a_step_goes_on() -> None:
    records = _kill_often(_agent(), _is_text, 2)
    assert isinstance(records[-1].event, ev.RunFinished)


def test_a_run_whose_step_has_killed_three_processes_ends() -> None:
    records = _kill_often(_agent(), _is_text, 3)
    end = records[-1].event
    assert isinstance(end, ev.RunFailed)
    assert end.category == "interrupted"
    assert "3 times before a step was finished" in end.message


def test_a_step_that_is_finished_in_between_counts_anew() -> None:
    def script(heard: Any) -> Any:
        results = [m for m in heard.messages if m.result is not None]
        more = [call("quick")] if len(results) < 3 else []
        return turn(say("Step."), *more)

    records = _kill_often(agent_on(script, quick), _is_text, 2)
    finished = [r.seq for r in records if isinstance(r.event, ev.StepFinished)]
    left = _kill(records, _is_text, finished[1])
    again = list(resume(agent_on(script, quick), left).records_so_far)
    assert isinstance(again[-1].event, ev.RunFinished)


def test_a_step_of_a_sub_agent_counts_as_progress() -> None:
    def script(heard: Any) -> Any:
        results = [m for m in heard.messages if m.result is not None]
        return turn(call("quick")) if len(results) < 6 else turn(say("Found."))

    def outer(heard: Any) -> Any:
        has_result = any(m.result is not None for m in heard.messages)
        return turn(say("All.")) if has_result else turn(call("helper", task="x"))

    def is_nested_step(record: Record) -> bool:
        return isinstance(record.event, ev.StepFinished) and bool(record.path)

    helper = agent_on(script, quick).as_tool("helper", "Help.")
    records = _kill_often(agent_on(outer, helper), is_nested_step, 5)
    assert isinstance(records[-1].event, ev.RunFinished)


def test_a_run_that_somebody_has_cancelled_is_not_continued() -> None:
    """The process was killed after the log had got the cancellation, in a turn or in a call."""

    @tool(is_idempotent=True)
    async def slow() -> str:
        """Take a while."""
        await asyncio.sleep(10)
        return "slept"

    async def cancelled(at_s: float) -> list[Record]:
        agent = agent_on([turn(say("I look."), call("slow"), pace_s=1.0)], slow)
        async with agent.run(QUESTION, clock=clock()) as run:
            loop = asyncio.get_running_loop()
            loop.call_later(at_s, lambda: run.cancel(by="ann"))
            await run.wait()
        return list(run.records_so_far)

    for at_s in (1.5, 8.5):
        records = run_virtual(cancelled(at_s))
        left = _kill(records, lambda record: isinstance(record.event, ev.CancelRequested), 0)
        script = ScriptedTransport([turn(say("Never."))])
        run = resume(agent_on(script, slow), left)
        check_log(run.records_so_far, "chat")
        assert script.opened == 0
        assert run.result.finish is not None
        assert run.result.finish.kind == "cancelled"
        starts = [r for r in run.records_so_far if isinstance(r.event, ev.ToolStarted)]
        assert len(starts) == sum(isinstance(r.event, ev.ToolStarted) for r in left)

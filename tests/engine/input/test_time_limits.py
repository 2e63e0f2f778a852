"""Time limits of runs that wait for input: the wait does not count."""

from __future__ import annotations

from typing import Any

from headrace.engine import Run, RunLimits, tool
from headrace.rehearsal.clock import run_virtual
from headrace.testing import call, say, turn, wait
from tests.engine.input.asking import QUESTION, agent_on, read, texts_of
from tests.engine.play import clock


@tool(needs_approval=True)
async def pay() -> str:
    """Pay."""
    return "paid"


def _play(agent: Any) -> Run[Any]:
    async def main() -> Run[Any]:
        return await read(agent.run(QUESTION, clock=clock()), after_s=1_000.0)

    return run_virtual(main())


def test_the_wait_for_an_answer_does_not_count() -> None:
    limits = RunLimits(run_timeout_s=10)
    run = _play(agent_on([turn(call("pay")), turn(say("Done."))], pay, limits=limits))
    assert run.result.text == "Done."


def test_the_time_before_and_after_an_answer_counts_together() -> None:
    limits = RunLimits(run_timeout_s=10)
    turns = [turn(wait(6), call("pay")), turn(wait(6), say("Done."))]
    run = _play(agent_on(turns, pay, limits=limits))
    assert run.result.finish is not None
    assert run.result.finish.detail == "run_timeout_s=10"


def test_the_limit_of_an_outer_run_waits_with_its_sub_agent() -> None:
    limits = RunLimits(run_timeout_s=10)
    inner = agent_on([turn(call("pay")), turn(say("Done."))], pay, limits=limits)
    tools = [inner.as_tool("helper", "Help.")]
    outer = agent_on([turn(call("helper", task="x")), turn(say("All."))], *tools, limits=limits)
    assert _play(outer).result.text == "All."


def _play_helper(*turns: Any) -> str:
    """Play a sub-agent that has ten seconds; return its result."""
    tools = [agent_on(list(turns), pay).as_tool("helper", "Help.", timeout_s=10)]
    outer = agent_on([turn(call("helper", task="x")), turn(say("All."))], *tools)
    run = _play(outer)
    assert run.result.text == "All."
    return texts_of(run.message)[0]


def test_the_time_of_a_sub_agent_stands_still_while_it_waits() -> None:
    assert _play_helper(turn(wait(6), call("pay")), turn(wait(3), say("Done."))) == "Done."


def test_the_time_of_a_sub_agent_goes_on_after_its_wait() -> None:
    result = _play_helper(turn(wait(6), call("pay")), turn(wait(6), say("Done.")))
    assert "took longer than 10 s" in result

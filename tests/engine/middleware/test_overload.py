"""Overload is tried again by options of the agent: `policy` before the first event, and
`RunLimits.turn_attempts` and `retries_late` after it. No middleware is needed."""

from __future__ import annotations

import pytest

from headrace import events as ev
from headrace.engine import Agent, Run, RunLimits
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.script import ScriptedTurn, error, refuse, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import RetryPolicy
from tests.engine.play import MODELS, check_run, clock

POLICY = RetryPolicy(attempts=6, base_s=1.0, cap_s=60.0, jitter=0.0)


def played(turns: list[ScriptedTurn], dialect: str, limits: RunLimits) -> tuple[Run, float]:
    agent = Agent(
        MODELS[dialect],
        transport=ScriptedTransport(turns, dialect=dialect),
        api_key="k",
        policy=POLICY,
        limits=limits,
    )

    async def main() -> Run:
        async with agent.run("Go.", clock=clock()) as run:
            await run.wait()
        return run

    run = run_virtual(main())
    check_run(run, dialect)
    return run, run.records_so_far[-1].at_ms / 1000


@pytest.mark.parametrize("dialect", MODELS)
def test_a_refusal_is_tried_again_after_the_time_that_was_named(dialect: str) -> None:
    busy = [turn(refuse(529, "Overloaded.")), turn(refuse(429, retry_after_s=20))]
    run, seconds = played([*busy, turn("Here.")], dialect, RunLimits())
    assert run.result.text == "Here."
    assert seconds == pytest.approx(21.0, abs=0.01)


@pytest.mark.parametrize("dialect", MODELS)
def test_an_overload_as_the_only_event_is_tried_again(dialect: str) -> None:
    run, _ = played([turn(error("overloaded")), turn("Here.")], dialect, RunLimits())
    assert run.result.text == "Here."


@pytest.mark.parametrize("dialect", MODELS)
def test_an_overload_in_the_middle_is_tried_again_where_that_is_asked_for(dialect: str) -> None:
    turns = [turn(say("Her"), error("overloaded")), turn(say("H"), error("overloaded"))]
    limits = RunLimits(turn_attempts=3, retries_late=True)
    run, _ = played([*turns, turn("Here.")], dialect, limits)
    assert run.result.text == "Here."
    assert sum(isinstance(r.event, ev.StepDiscarded) for r in run.records_so_far) == 2
    run, _ = played([*turns, turn("Here.")], dialect, RunLimits(turn_attempts=3))
    assert run.result.error is not None
    assert run.result.error.category == "overloaded"

"""Runs whose history was shortened before they were stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Agent, Run
from headrace.errors import UsageError
from headrace.messages import Message
from headrace.rehearsal.clock import run_virtual
from headrace.testing import ScriptedTransport, call, say, turn
from headrace.tools import tool
from tests.engine.input.asking import QUESTION, agent_on
from tests.engine.play import clock
from tests.engine.resume.scenes import HISTORY, through_json


@tool
async def quick() -> str:
    """Be done at once."""
    return "done"


class SummarizeOnce:
    """Replaces the history by a summary, once; it is asked to do so in one process alone."""

    name = "once"

    def __init__(self, *, is_used: bool = False) -> None:
        self.is_used = is_used

    async def compact(
        self, messages: Sequence[Message], *, is_forced: bool
    ) -> tuple[Message, ...] | None:
        if self.is_used:
            return None
        self.is_used = True
        return (Message.user("Summary: a planner was introduced."), *messages[len(HISTORY) :])


def _resume(agent: Agent[Any], run: Run[Any], history: Sequence[Message]) -> Run[Any]:
    """Go on after the first step, in another process."""
    records = run.records_so_far
    step = next(n for n, r in enumerate(records, 1) if isinstance(r.event, ev.StepFinished))

    async def main() -> Run[Any]:
        left = through_json(records[:step])
        async with agent.resume(left, input=QUESTION, history=history, clock=clock()) as resumed:
            await resumed.wait()
        return resumed

    return run_virtual(main())


def _play() -> Run[Any]:
    agent = agent_on([turn(call("quick")), turn(say("Done."))], quick, compactor=SummarizeOnce())

    async def main() -> Run[Any]:
        async with agent.run(QUESTION, HISTORY, clock=clock()) as run:
            await run.wait()
        return run

    return run_virtual(main())


def test_the_next_process_sends_the_same_summary_and_makes_no_other() -> None:
    first = _play()
    script = ScriptedTransport([turn(say("Done."))])
    agent = agent_on(script, quick, compactor=SummarizeOnce(is_used=True))
    resumed = _resume(agent, first, HISTORY)
    (body,) = script.requests
    assert "Summary: a planner was introduced." in str(body)
    assert "Who are you?" not in str(body)
    compacted = [r for r in resumed.records_so_far if isinstance(r.event, ev.HistoryCompacted)]
    assert len(compacted) == 1


def test_another_history_than_that_of_the_run_is_refused() -> None:
    agent = agent_on([turn(say("Done."))], quick)
    records = _play().records_so_far[:-1]
    with pytest.raises(UsageError, match="give the same input and history"):
        agent.resume(records, input=QUESTION, history=HISTORY[:2])

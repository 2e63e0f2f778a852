"""From the end of a step to the start of the next one: the work does not grow with the run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from headrace import events as ev
from headrace.engine import Agent, RunLimits
from headrace.engine.journal.journal import Journal
from headrace.rehearsal.clock import run_virtual
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import tool
from headrace.transport.retry import NEVER

STEPS = 60


@tool
def look(task: str) -> str:
    """Look."""
    return "nothing"


def agent_with(tools: Sequence[Any], steps: int = STEPS) -> Agent:
    """An agent that calls its tool in every step but the last."""

    def play(heard: Heard) -> ScriptedTurn:
        done = sum(message.result is not None for message in heard.messages)
        return turn(say("Done.")) if done >= steps else turn(call("look", task=str(done)))

    transport = ScriptedTransport(play, keeps_requests=False)
    limits = RunLimits(max_iterations=steps + 2, max_nested_runs=steps + 2)
    return Agent("vllm:m", transport=transport, policy=NEVER, tools=tools, limits=limits)


class Boundaries:
    """Counts the lines that run from the end of each step to the start of the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: list[int] = []
        self._write = Journal.write
        boundaries = self

        async def write(journal: Journal, events: Any, **options: Any) -> None:
            await boundaries.follow(journal, list(events), options)

        monkeypatch.setattr(Journal, "write", write)

    async def follow(self, journal: Journal, events: list[Any], options: dict[str, Any]) -> None:
        kinds = set() if options.get("path") else set(map(type, events))
        if ev.StepFinished in kinds:
            self.lines.append(0)
            sys.settrace(self._trace)
        await self._write(journal, events, **options)
        if ev.StepStarted in kinds:
            sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines[-1] += 1
        return self._trace


@pytest.mark.parametrize("has_sub_agents", [False, True])
def test_a_step_boundary_does_not_grow_with_the_run(
    has_sub_agents: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper: Any = look
    if has_sub_agents:
        helper = agent_with([], steps=0).as_tool("look", "Look.")
    before = sys.gettrace()
    boundaries = Boundaries(monkeypatch)

    async def main() -> str:
        # The first record of a millisecond takes a few lines more.
        async with agent_with([helper]).run("Go.", clock=lambda: 0.0) as run:
            return (await run.wait()).text

    try:
        assert run_virtual(main()) == "Done."
    finally:
        sys.settrace(before)
    early, late = boundaries.lines[5], boundaries.lines[STEPS - 5]
    assert early > 0
    assert late == early

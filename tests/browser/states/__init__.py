"""The states of the page: how each is reached, for pictures and for tests of all of them."""

from __future__ import annotations

from pathlib import Path

from tests.browser.stage import Stage
from tests.browser.states import agents, answers, page

STATES = (*answers.STATES, *agents.STATES, *page.STATES)


def open_stage(data: Path) -> Stage:
    """Serve an agent that can be brought into every state."""
    stage = Stage(data, tools=agents.make_tools())
    for states in (answers, agents, page):
        states.add_plays(stage)
    return stage.open()

"""Sub-agents on the page: what they do is in the row of their call, also after their server was
stopped in the middle of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, think, turn, wait
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.browser.talk import Talk

_FOREVER_S = 1_000.0


class _Play:
    """An agent with a sub-agent whose turn stops in the middle until it is released."""

    def __init__(self) -> None:
        self.attempts = 0
        self.is_released = False

    async def sleep(self, seconds: float) -> None:
        while seconds >= _FOREVER_S and not self.is_released:
            await asyncio.sleep(0.02)

    def inner(self, heard: Heard) -> ScriptedTurn:
        self.attempts += 1
        text = f"Attempt {self.attempts}"
        return turn(think("Looking into it."), say(text), wait(_FOREVER_S), say(" is done."))

    def outer(self, heard: Heard) -> ScriptedTurn:
        results = [m.result for m in heard.since_user if m.result is not None]
        if heard.user == "plain":
            return self.inner(heard)
        if results:
            return turn(say(f"They said: {results[-1].text}"))
        return turn(call("research", task="Find out."))

    def agent(self) -> Agent:
        inner = self._agent(self.inner)
        return self._agent(self.outer, inner.as_tool("research", "Look something up."))

    def _agent(self, play: object, *tools: object) -> Agent:
        transport = ScriptedTransport(play, dialect="responses", sleep=self.sleep)  # type: ignore[arg-type]
        return Agent(
            "openai:rehearsed",
            transport=transport,
            api_key="k",
            tools=list(tools),  # type: ignore[arg-type]
            policy=NEVER,
        )


@pytest.fixture
def play() -> _Play:
    return _Play()


def test_the_steps_of_a_sub_agent_are_in_the_row_of_its_call(
    tmp_path: Path, page: Page, play: _Play
) -> None:
    stage = Stage(tmp_path / "data", agent=play.agent()).open()
    try:
        talk = Talk(page, stage.url).open()
        talk.send("research")
        steps = page.get_by_role("group", name="Steps of research")
        expect(steps).to_contain_text("Looking into it.")
        expect(steps).to_contain_text("Attempt 1")
        play.is_released = True
        talk.settle()
        assert talk.texts == ["They said: Attempt 1 is done."]
        # The row is closed now, and opens to the same steps; so it does after a reload.
        for _ in range(2):
            expect(steps).to_be_hidden()
            page.locator("[data-tool] summary").click()
            expect(steps).to_contain_text("Attempt 1 is done.")
            page.reload()
    finally:
        stage.close()


def test_a_step_of_a_sub_agent_that_was_discarded_is_replaced(
    tmp_path: Path, page: Page, play: _Play
) -> None:
    stage = Stage(tmp_path / "data", agent=play.agent(), on_interrupt="continue").open()
    try:
        talk = Talk(page, stage.url).open()
        talk.send("research")
        steps = page.get_by_role("group", name="Steps of research")
        expect(steps).to_contain_text("Attempt 1")
        stage.restart()
        expect(steps).to_contain_text("Attempt 2")
        expect(steps).not_to_contain_text("Attempt 1")
        play.is_released = True
        talk.settle()
        assert talk.texts == ["They said: Attempt 2 is done."]
        page.locator("[data-tool] summary").click()
        expect(steps).to_contain_text("Attempt 2 is done.")
        expect(steps).not_to_contain_text("Attempt 1")
    finally:
        stage.close()


def test_a_step_that_was_discarded_is_replaced(tmp_path: Path, page: Page, play: _Play) -> None:
    stage = Stage(tmp_path / "data", agent=play.agent(), on_interrupt="continue").open()
    try:
        talk = Talk(page, stage.url).open()
        talk.send("plain")
        answer = page.locator("headrace-assistant-message")
        expect(answer).to_contain_text("Attempt 1")
        stage.restart()
        expect(answer).to_contain_text("Attempt 2")
        expect(answer).not_to_contain_text("Attempt 1")
        play.is_released = True
        talk.settle()
        assert talk.texts == ["Attempt 2 is done."]
    finally:
        stage.close()

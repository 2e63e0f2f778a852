"""Requests for input on the page: allowed, denied, answered elsewhere, and after a reload."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ToolContext, tool
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.browser.talk import Talk
from tests.browser.test_access import OF_COLORS, find_axe_violations


def _play(heard: Heard) -> ScriptedTurn:
    results = [message.result for message in heard.since_user if message.result is not None]
    if not results:
        names = {"ask": "ask_back", "form": "fill_in"}
        return turn(call(names[heard.user]) if heard.user in names else call("pay", amount=5))
    if heard.user == "twice" and len(results) == 1:
        return turn(call("pay", amount=6))
    return turn(say(f"The tool said: {results[-1].text}"))


_FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City"},
        "nights": {"type": "integer"},
        "size": {"enum": ["small", "large"]},
        "has_breakfast": {"type": "boolean", "title": "Breakfast"},
        "note": {"type": "string"},
    },
    "required": ["city", "nights", "size"],
}


@pytest.fixture
def stage(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A server, with the settings that a test gives as a parameter."""

    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool(is_idempotent=True)
    async def ask_back(context: ToolContext) -> str:
        """Ask the user something."""
        return f"they want {await context.ask('Which one?')}"

    @tool(is_idempotent=True)
    async def fill_in(context: ToolContext) -> str:
        """Ask the user for a form."""
        return f"they want {json.dumps(await context.ask('Where to?', _FORM), sort_keys=True)}"

    agent = Agent(
        "openai:rehearsed",
        transport=ScriptedTransport(_play, dialect="responses"),
        api_key="k",
        tools=[pay, ask_back, fill_in],
        policy=NEVER,
    )
    settings: dict[str, Any] = getattr(request, "param", {})
    stage = Stage(tmp_path / "data", agent=agent, **settings).open()
    yield stage
    stage.close()


def _row(page: Page) -> Locator:
    return page.get_by_role("region", name="Request of pay")


def _button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def test_a_call_that_is_allowed_runs(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("pay")
    expect(_row(page)).to_contain_text("Waiting for your approval")
    expect(page.get_by_label("Arguments")).to_have_value(re.compile('"amount": 5'))
    expect(page.get_by_text("Thinking", exact=True)).to_have_count(0)
    expect(page.locator("[aria-live]")).to_contain_text("pay needs your approval.")
    _button(page, "Approve").focus()
    page.keyboard.press("Enter")
    talk.settle()
    assert talk.texts == ["The tool said: paid 5"]
    expect(_row(page)).to_contain_text("Approved")
    expect(_button(page, "Approve")).to_have_count(0)
    expect(_row(page)).to_be_focused()


def test_from_the_first_question_to_an_approved_tool_by_keyboard_alone(
    stage: Stage, page: Page
) -> None:
    """The arguments are changed on the way; what is no object is not sent."""
    talk = Talk(page, stage.url).open()
    expect(talk.composer).to_be_focused()
    page.keyboard.type("pay")
    page.keyboard.press("Enter")
    arguments = page.get_by_label("Arguments")
    expect(arguments).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Shift+Tab")
        if arguments.evaluate("one => one.matches(':focus')"):
            break
    expect(arguments).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("7")
    page.keyboard.press("Control+Enter")
    expect(_row(page)).to_contain_text("must be a JSON object")
    page.keyboard.press("Control+a")
    page.keyboard.type('{"amount": 7}')
    page.keyboard.press("Control+Enter")
    talk.settle()
    assert talk.texts[0].endswith("paid 7")
    expect(_row(page)).to_contain_text("Approved with changes")


@pytest.mark.parametrize("question", ["pay", "ask", "form"])
def test_axe_finds_nothing_in_a_request(
    stage: Stage, context: BrowserContext, question: str
) -> None:
    # Not the fixture `page`: axe uses styles that the policy of the page forbids.
    page = context.new_page()
    talk = Talk(page, stage.url).open()
    talk.send(question)
    expect(_button(page, "Deny")).to_be_visible()
    assert find_axe_violations(talk) == []
    page.emulate_media(color_scheme="dark")
    talk.until("() => document.getAnimations().every((one) => !(one instanceof CSSTransition))")
    assert find_axe_violations(talk, *OF_COLORS) == []
    _button(page, "Deny").click()
    talk.settle()
    assert find_axe_violations(talk) == []


def test_a_request_that_waits_is_there_after_a_reload_and_can_be_denied(
    stage: Stage, page: Page
) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("pay")
    expect(_button(page, "Deny")).to_be_visible()
    page.reload()
    expect(_row(page)).to_contain_text("Waiting for your approval")
    page.get_by_text("Deny with a reason").click()
    page.get_by_label("Reason for a denial").fill("Too much.")
    page.keyboard.press("Enter")
    talk.settle()
    assert "Too much." in talk.texts[0]
    expect(_row(page)).to_contain_text("Denied: Too much.")
    page.reload()
    expect(_row(page)).to_contain_text("Denied: Too much.")


def test_an_approval_can_hold_for_the_whole_answer(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("twice")
    _button(page, "Always in this run").click()
    talk.settle()
    assert talk.texts == ["The tool said: paid 6"]
    expect(_row(page)).to_have_count(1)
    expect(_row(page)).to_contain_text("Always approved in this run")


def test_an_answer_in_another_tab_is_shown_in_this_one(
    stage: Stage, page: Page, context: BrowserContext
) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("pay")
    expect(_button(page, "Approve")).to_be_visible()
    other: Any = context.new_page()
    Talk(other, stage.url).open(talk.conversation_id)
    _button(other, "Deny").click()
    expect(_row(page)).to_contain_text("Denied")
    expect(_button(page, "Approve")).to_have_count(0)
    other.close()


def test_a_question_of_a_tool_is_answered_with_a_text(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("ask")
    expect(page.get_by_text("Which one?")).to_be_visible()
    page.get_by_label("Answer", exact=True).fill("the second")
    _button(page, "Send answer").click()
    talk.settle()
    assert talk.texts == ["The tool said: they want the second"]


def test_a_flat_form_has_a_field_for_each_value(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("form")
    page.get_by_label("City").fill("Oslo")
    _button(page, "Send answer").click()
    assert talk.texts == [], "a field that is required is empty"
    page.get_by_label("nights").fill("3")
    page.get_by_label("size").select_option("large")
    page.get_by_label("Breakfast").check()
    _button(page, "Send answer").click()
    talk.settle()
    wanted = '{"city": "Oslo", "has_breakfast": true, "nights": 3, "size": "large"}'
    assert talk.texts == [f"The tool said: they want {wanted}"]


def test_a_form_that_is_denied_has_no_reason_unless_one_is_given(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("form")
    page.get_by_label("City").fill("Oslo")
    _button(page, "Deny").click()
    talk.settle()
    row = page.get_by_role("region", name="Request of fill_in")
    expect(row.locator(".request-state")).to_have_text("Denied")


@pytest.mark.parametrize("stage", [{"waiting_stream_s": 0.05}], indirect=True)
def test_a_row_stays_although_the_server_closes_the_stream(stage: Stage, page: Page) -> None:
    """What was typed into it is not lost, and it can be answered."""
    connects: list[str] = []
    page.on("request", lambda made: connects.append(made.url) if "/stream" in made.url else None)
    talk = Talk(page, stage.url).open()
    talk.send("pay")
    page.get_by_text("Deny with a reason").click()
    reason = page.get_by_label("Reason for a denial")
    reason.fill("Too much.")
    while len(connects) < 4:
        page.wait_for_timeout(50)
    expect(reason).to_have_value("Too much.")
    _button(page, "Deny").click()
    talk.settle()
    expect(_row(page)).to_contain_text("Denied: Too much.")

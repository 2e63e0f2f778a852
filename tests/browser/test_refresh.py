"""A reload at any moment, and tabs that are many: the answer is the same for all of them."""

from __future__ import annotations

import os
import random
import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from headrace.rehearsal.script import call, say, think, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

IS_SOAK = "HEADRACE_SOAK_PAGES" in os.environ
RELOADS = 30 if IS_SOAK else 12
STREAMS = 5 if IS_SOAK else 3
WORDS = " ".join(f"word{number}" for number in range(60))
TEXT = f"# It is 6\n\n{WORDS}\n\n- one\n- two\n"
SCRIPT = [
    turn(think("I begin.", title="Beginning"), call("calculator", expression="2*3"), pace_s=0.02),
    turn(think("And then that.", title="Going on"), say(TEXT), pace_s=0.02),
]


def _dom(talk: Talk) -> str:
    talk.open_all()
    html: str = talk.page.locator(".thread").evaluate("one => one.innerHTML")
    html = re.sub(r'<!--.*?-->|\s+(?=<)| style="[^"]*"', "", html)
    # Two answers differ in when they began and how long they took, and in nothing else.
    html = re.sub(r"<time.*?</time>", "", html)
    return re.sub(r"\d+ ms|[\d.]+ s\b|a moment", "some time", html)


@pytest.mark.timeout(180)
def test_a_reload_at_any_moment_ends_in_the_same_page(stage: Stage, page: Page) -> None:
    stage.plays["q"] = SCRIPT
    talk = Talk(page, stage.url).open()
    talk.ask("q")
    expected = _dom(talk)
    chance = random.Random(4)
    for _ in range(STREAMS):
        talk.open()
        talk.page.get_by_role("button", name="New conversation").click()
        talk.send("q")
        talk.until("() => location.hash !== ''")
        for _ in range(RELOADS // STREAMS):
            page.wait_for_timeout(chance.uniform(0, 400))
            page.reload()
        expect(talk.answers).to_have_count(1)
        talk.settle()
        assert _dom(talk) == expected


def test_a_reload_takes_up_the_stream_where_it_is(stage: Stage, page: Page) -> None:
    stage.plays["q"] = [turn(say("One. "), gate(1), say("Two."))]
    talk = Talk(page, stage.url).open()
    talk.send("q")
    expect(page.locator(".text")).to_contain_text("One.")
    page.reload()
    expect(page.locator(".streaming .text")).to_contain_text("One.")
    stage.release(1)
    talk.settle()
    expect(page.locator(".text")).to_have_text("One. Two.")


def test_a_server_that_is_restarted_says_how_the_answer_ended(stage: Stage, page: Page) -> None:
    stage.plays["q"] = [turn(think("Hm."), say("Half"), gate(1), say(" of it."))]
    talk = Talk(page, stage.url).open()
    talk.send("q")
    expect(page.locator(".text")).to_contain_text("Half")
    stage.restart()
    talk.settle()
    expect(page.locator(".notice")).to_contain_text("The server stopped")
    expect(page.locator(".text")).to_contain_text("Half")


@pytest.mark.timeout(120)
def test_eight_tabs_stream_and_stop_still_works(
    stage: Stage, context: BrowserContext, record_property: Any
) -> None:
    stage.plays["q"] = [turn(say("Going on"), gate(1), say("."))]
    talks = [Talk(context.new_page(), stage.url).open() for _ in range(8)]
    for talk in talks:
        talk.send("q")
    for talk in talks:
        expect(talk.page.locator(".text")).to_contain_text("Going on")
    for talk in (talks[-1], talks[0]):
        talk.page.evaluate(_WATCH)
        talk.page.get_by_role("button", name="Stop").click()
        # A request that waited for the other streams would never be answered.
        talk.settle()
        stopped_ms = talk.page.evaluate("() => window.stoppedAt - window.clickedAt")
        record_property("summary", f"Stop with eight tabs took {stopped_ms:.0f} ms")
        expect(talk.page.locator(".notice")).to_contain_text("You stopped")
    assert all(talk.page.locator(".streaming").count() == 1 for talk in talks[1:-1])
    stage.release(1)
    for talk in talks[1:-1]:
        talk.settle()
        expect(talk.page.locator(".text")).to_have_text("Going on.")


_WATCH = """() => {
  const { chat, shadowRoot } = document.querySelector("headrace-chat");
  chat.bus.watch(chat.streamingId, () => { window.stoppedAt = performance.now(); });
  shadowRoot.addEventListener("click", () => { window.clickedAt = performance.now(); }, true);
}"""


def test_two_tabs_on_one_conversation_agree(stage: Stage, context: BrowserContext) -> None:
    stage.plays["q"] = [turn(say("One. "), gate(1), say("Two."))]
    one = Talk(context.new_page(), stage.url).open()
    one.ask("Hello there")
    other = Talk(context.new_page(), stage.url).open(one.conversation_id)
    expect(other.answers).to_have_count(1)
    one.send("q")
    expect(other.page.locator(".streaming .text")).to_contain_text("One.")
    other.page.get_by_role("button", name="Stop").click()
    for talk in (one, other):
        talk.settle()
        expect(talk.page.locator(".notice")).to_contain_text("You stopped")
    assert one.texts == other.texts


def test_a_hidden_tab_lets_its_stream_go_and_takes_it_up_again(stage: Stage, page: Page) -> None:
    stage.plays["q"] = [turn(say("One. "), gate(1), say("Two. "), gate(2), say("Three."))]
    talk = Talk(page, stage.url).open()
    talk.send("q")
    expect(page.locator(".text")).to_contain_text("One.")
    _see(page, "hidden")
    page.wait_for_timeout(1_500)
    stage.release(1)
    page.wait_for_timeout(300)
    assert "Two." not in page.locator(".text").inner_text()
    _see(page, "visible")
    expect(page.locator(".text")).to_contain_text("Two.")
    stage.release(2)
    talk.settle()
    expect(page.locator(".text")).to_have_text("One. Two. Three.")


def _see(page: Page, state: str) -> None:
    """As if the tab went behind another, or came back. (Headless tabs are always in front.)"""
    page.evaluate(
        "(state) => { Object.defineProperty(document, 'visibilityState', { value: state,"
        " configurable: true }); document.dispatchEvent(new Event('visibilitychange')); }",
        state,
    )


def test_going_offline_and_back_loses_nothing(stage: Stage, context: BrowserContext) -> None:
    stage.plays["q"] = [turn(say("One. "), gate(1), say("Two. "), gate(2), say("Three."))]
    page = context.new_page()
    talk = Talk(page, stage.url).open()
    talk.send("q")
    expect(page.locator(".text")).to_contain_text("One.")
    # An open stream survives the switch; it is broken as a lost network breaks it.
    context.set_offline(True)
    page.evaluate("() => document.querySelector('headrace-chat').chat.sessions.drop()")
    expect(page.locator(".offline")).to_be_visible()
    stage.release(1)
    context.set_offline(False)
    expect(page.locator(".text")).to_contain_text("Two.")
    expect(page.locator(".offline")).to_have_count(0)
    stage.release(2)
    talk.settle()
    expect(page.locator(".text")).to_have_text("One. Two. Three.")

"""For everybody: nothing for axe to find in any state, a conversation without a mouse, and a live
region that tells events and never tokens."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from headrace.rehearsal.script import call, say, think, turn
from tests.browser.stage import Stage, gate
from tests.browser.states import STATES, open_stage
from tests.browser.talk import Talk, script

OF_COLORS = ("color-contrast", "link-in-text-block")
"""The rules whose result depends on the color scheme."""
OF_LAYOUT = (*OF_COLORS, "scrollable-region-focusable")
"""The rules whose result depends on what else changes the look of a page: the colors of the system
and the direction of the text. `make soak` runs all rules again."""
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


_CUT = script("cut")


def _drawer(talk: Talk) -> None:
    talk.ask("Hello there")
    talk.page.get_by_role("button", name="Conversations", exact=True).click()
    talk.page.get_by_role("button", name="Rename").click()
    talk.page.wait_for_timeout(300)


def find_axe_violations(talk: Talk, *rules: str) -> list[Any]:
    """What axe complains about, of all rules or of some; it is brought in beside the page's
    policy."""
    if not talk.page.evaluate("'axe' in window"):
        talk.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[Any] = talk.page.evaluate(
        "async (rules) => (await axe.run(document, rules.length ? { runOnly: rules } : {}))"
        ".violations"
        ".map((one) => [one.id, one.help, ...one.nodes.map((node) => node.html.slice(0, 120))])",
        list(rules),
    )
    return found


@pytest.mark.parametrize("state", STATES, ids=lambda one: one.__name__)
def test_axe_finds_nothing(
    tmp_path: Path, context: BrowserContext, state: Callable[[Talk], None]
) -> None:
    """In light, in dark, from right to left, and with the colors of the system. Nothing is cut off
    on a phone."""
    stage = open_stage(tmp_path / "states")
    # Not the fixture `page`: axe uses styles that the policy of the page forbids.
    page = context.new_page()
    talk = Talk(page, stage.url).open()
    state(talk)
    assert find_axe_violations(talk) == []
    page.emulate_media(color_scheme="dark")
    # Until the transitions from light colors to dark ones are over.
    talk.until("() => document.getAnimations().every((one) => !(one instanceof CSSTransition))")
    assert find_axe_violations(talk, *OF_COLORS) == []
    page.evaluate("() => { document.documentElement.dir = 'rtl'; }")
    page.emulate_media(color_scheme="light", forced_colors="active")
    talk.until("() => document.getAnimations().every((one) => !(one instanceof CSSTransition))")
    again = () if "HEADRACE_SOAK_PAGES" in os.environ else OF_LAYOUT
    assert find_axe_violations(talk, *again) == []
    page.set_viewport_size({"width": 320, "height": 740})
    # The list moves out of the page first.
    talk.until(f"() => ({_CUT})().length === 0")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    stage.close()


def test_the_list_is_on_the_right_in_a_page_from_right_to_left(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.page.evaluate("() => { document.documentElement.dir = 'rtl'; }")
    new = talk.page.get_by_role("button", name="New conversation").bounding_box()
    assert new is not None
    assert new["x"] > 800


def test_axe_finds_nothing_on_a_phone(stage: Stage, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    talk = Talk(context.new_page(), stage.url).open()
    _drawer(talk)
    assert find_axe_violations(talk) == []
    context.close()


_FOCUS = script("focus")


def _press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def _tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Go on from where the focus is, and not from the top, to the thing of this name."""
    start = page.evaluate(_FOCUS)
    assert start != "nothing", f"the focus was lost on the way to {name}"
    passed = [start]
    while name not in passed[-1]:
        page.keyboard.press(key)
        passed.append(page.evaluate(_FOCUS))
        assert passed[-1] != "nothing", f"{key} leaves the page on the way to {name}: {passed}"


def _is_at(talk: Talk, name: str) -> None:
    talk.until(f"() => ({_FOCUS})() === {name!r}")


def test_a_whole_conversation_without_a_mouse(stage: Stage, page: Page) -> None:
    stage.plays["first"] = [turn(think("Hm."), call("clock")), turn(think("So."), say("One."))]
    stage.plays["second"] = [turn(say("Two"), gate(1), say("!"))]
    stage.plays["third"] = [turn(say("Three."))]
    talk = Talk(page, stage.url).open()
    _is_at(talk, "Message")
    page.keyboard.type("first")
    _press(page, "Enter")
    expect(page.locator(".text")).to_have_text("One.")
    talk.settle()
    _is_at(talk, "Message")
    page.keyboard.type("second")
    _press(page, "Enter")
    expect(page.locator(".text").nth(1)).to_contain_text("Two")
    _press(page, "Escape")
    talk.settle()
    expect(page.locator(".notice")).to_contain_text("You stopped")
    _is_at(talk, "Message")
    _tab_to(page, "New conversation", "Shift+Tab")
    _tab_to(page, "Show Reasoning")
    _press(page, "Enter")
    expect(page.locator("[data-part]").first).to_be_visible()
    _tab_to(page, "clock")
    _press(page, "Enter")
    expect(page.locator("details[open] .tool-result")).to_be_visible()
    _tab_to(page, "Edit")
    _press(page, "Enter")
    _is_at(talk, "Message")
    _press(page, "Control+a")
    page.keyboard.type("third")
    _press(page, "Enter")
    expect(page.locator(".text").last).to_have_text("Three.")
    talk.settle()
    _is_at(talk, "Message")
    _tab_to(page, "Earlier version", "Shift+Tab")
    _press(page, "Enter")
    expect(page.locator(".text").last).not_to_have_text("Three.")
    _is_at(talk, "Later version")
    _tab_to(page, "Search conversations", "Shift+Tab")
    page.keyboard.type("nothing like it")
    expect(page.locator(".none")).to_be_visible()
    _press(page, "Control+Shift+O")
    expect(page.locator(".hello")).to_be_visible()
    _is_at(talk, "Message")


def _said(page: Page) -> list[str]:
    page.wait_for_timeout(600)
    said: list[str] = page.evaluate("() => window.said")
    return said


_LISTEN = script("listen")


def test_the_live_region_tells_events_and_never_tokens(stage: Stage, page: Page) -> None:
    words = " ".join(f"token{number}" for number in range(200))
    stage.plays["q"] = [turn(think("Hm.", title="Weighing"), call("clock")), turn(say(words))]
    stage.plays["stop"] = [turn(say("Half"), gate(1), say("."))]
    talk = Talk(page, stage.url).open()
    page.evaluate(_LISTEN)
    talk.ask("q")
    page.wait_for_timeout(1_500)
    said = _said(page)
    assert said[0] == "Message sent. Thinking."
    assert said[-1] == "Answer complete."
    assert any("clock" in one for one in said)
    assert not any("token1" in one for one in said)
    talk.send("stop")
    expect(page.locator(".text").last).to_contain_text("Half")
    page.get_by_role("button", name="Stop").click()
    talk.settle()
    assert _said(page)[-1] == "Stopped. The partial answer is kept."


def test_nothing_moves_for_those_who_ask_for_that(stage: Stage, browser: Browser) -> None:
    context = browser.new_context(reduced_motion="reduce")
    stage.plays["q"] = [turn(think("Hm."), gate(1), say("x"))]
    talk = Talk(context.new_page(), stage.url).open()
    talk.send("q")
    expect(talk.page.locator(".overlay .part")).to_be_visible()
    moving = talk.page.evaluate(
        "() => document.getAnimations().filter((one) => one.playState === 'running').length"
    )
    assert moving == 0
    stage.release(1)
    talk.settle()
    context.close()


def test_axe_looks_into_the_chat(stage: Stage, page: Page) -> None:
    """Else it would find nothing whatever there is."""
    talk = Talk(page, stage.url).open()
    page.locator(".hello").evaluate("one => { one.innerHTML = '<button></button>'; }")
    assert "button-name" in [found[0] for found in find_axe_violations(talk)]

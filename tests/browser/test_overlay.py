"""The overlay of seed 003: in sight until the end, and nothing moves when it goes."""

from __future__ import annotations

import os
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from headrace.rehearsal.script import Line, call, say, think, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk, script

THOUGHTS = think("\n\n".join(f"Thought number {number}." for number in range(40)), title="Looking")
SUM = call("calculator", expression="12*34")
LATER = think("The tool has told me.", title="Checking")
SHORT = "It is 408.\n\nThat is all."
LINES = "\n\n".join(f"Line {number} of the answer." for number in range(100))
MORE = "\n\n".join(f"Line {number} of the answer." for number in range(100, 200))
TOLERANCE_PX = 2

_SEEN = script("seen")
_READABLE = script("readable")
_QUIET = script("quiet")
_WINDOW = "document.querySelector('headrace-chat').shadowRoot.querySelector('.window')"
_SCROLLER = "document.querySelector('headrace-chat').shadowRoot.querySelector('.scroller')"


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


def is_readable(place: Locator) -> bool:
    return bool(place.evaluate(_READABLE))


# --- while the text is written -----------------------------------------------------


def test_the_overlay_is_in_sight_while_200_lines_of_text_are_written_below_it(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [
        turn(THOUGHTS, SUM),
        turn(LATER, say(LINES), gate(1), say("\n\n" + MORE), gate(2), say(" x")),
    ]
    talk.send("q")
    newest = talk.overlay.get_by_text("The tool has told me.")
    for number, last in ((1, "Line 99 of"), (2, "Line 199 of")):
        expect(talk.page.get_by_text(last)).to_be_in_viewport()
        assert is_readable(newest)
        assert is_readable(talk.overlay.locator(".tool-name"))
        assert is_readable(talk.page.get_by_text(last))
        expect(talk.toggles).to_have_count(0)
        stage.release(number)
    talk.settle()
    expect(talk.overlay).to_have_count(0)


def test_the_overlay_can_be_scrolled_while_text_is_written(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(THOUGHTS, say(LINES), gate(1), say("\n\n" + MORE), gate(2), say("x"))]
    talk.send("q")
    expect(talk.page.get_by_text("Line 99 of")).to_be_in_viewport()
    read = talk.overlay.get_by_text("Thought number 20.")
    assert not is_readable(read)
    talk.page.locator(".window").hover()
    talk.page.mouse.wheel(0, -400)
    talk.until(f"() => {_WINDOW}.scrollTop < -300")
    talk.page.wait_for_timeout(200)
    (read, *_) = [one for one in talk.overlay.locator(".block").all() if is_readable(one)]
    held = read.bounding_box()
    stage.release(1)
    expect(talk.page.get_by_text("Line 199 of")).to_be_in_viewport()
    assert read.bounding_box() == held
    stage.release(2)
    talk.settle()


def test_a_window_that_is_being_read_does_not_shrink_when_the_text_begins(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(THOUGHTS, gate(1), say("Hello."), gate(2), say(" x"))]
    talk.send("q")
    expect(talk.overlay).to_contain_text("Thought number 39.")
    read = talk.overlay.get_by_text("Thought number 20.")
    read.evaluate("one => one.scrollIntoView({ block: 'center' })")
    held = read.bounding_box()
    stage.release(1)
    expect(talk.page.locator(".text")).to_contain_text("Hello.")
    assert read.bounding_box() == held
    stage.release(2)
    talk.settle()


def test_steps_before_an_earlier_text_stay_in_their_place_and_readable(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [
        turn(think("The first."), say("Let me see. "), SUM),
        turn(LATER, say("It is 408."), gate(1), say(" x")),
    ]
    talk.send("q")
    expect(talk.page.locator(".text").nth(1)).to_contain_text("It is 408.")
    order = [step[0] for step in talk.steps()]
    assert order == ["part", "text", "tool", "part", "text"]
    expect(talk.overlay).to_have_count(1)
    expect(talk.overlay).not_to_contain_text("The first.")
    assert is_readable(talk.page.locator(".settled").get_by_text("The first."))
    assert is_readable(talk.overlay.get_by_text("The tool has told me."))
    stage.release(1)
    talk.settle()
    talk.open_all()
    assert [step[0] for step in talk.steps()] == order


# --- at the end --------------------------------------------------------------------

ANSWERS: dict[str, list[Line]] = {
    "a short answer": [say(SHORT)],
    "a long answer": [say(LINES)],
    "an answer in two texts": [say(LINES), think("Again."), say(MORE)],
    "an answer with its tools between": [say("Let me see."), think("Hm."), say(LINES)],
}
READERS = {
    "pinned": "() => undefined",
    "at the top": f"() => {{ {_SCROLLER}.scrollTop = 0; }}",
    "further up": f"() => {{ {_SCROLLER}.scrollTop -= 700; }}",
    "in the overlay": "() => { for (const one of document.querySelector('headrace-chat')"
    ".shadowRoot.querySelectorAll('.window')) one.scrollTop = -200; }",
}


def _seen(talk: Talk) -> dict[str, float]:
    return {text: top for text, top, _ in talk.page.evaluate(_SEEN)}


def _ended(stage: Stage, talk: Talk, message: str, reader: str) -> tuple[Any, Any]:
    """What is on the screen before the last frame, and after it."""
    stage.hold_commits()
    talk.send(message)
    talk.until(_QUIET)
    talk.page.evaluate(reader)
    talk.page.wait_for_timeout(200)
    expect(talk.overlay).to_have_count(1)
    before = _seen(talk)
    stage.release_commits()
    talk.settle()
    talk.page.wait_for_timeout(200)
    return before, _seen(talk)


SIZES = {"wide": (1100, 800), "phone": (390, 760)}
# Each answer with each reader, and each of both in each size; everything in `make soak`.
CASES = [
    pytest.param(answer, reader, SIZES[size], id=f"{answer}-{reader}-{size}")
    for a, answer in enumerate(ANSWERS)
    for r, reader in enumerate(READERS)
    for s, size in enumerate(SIZES)
    if "HEADRACE_SOAK_PAGES" in os.environ or (a + r) % 2 == s
]


@pytest.mark.parametrize(("answer", "reader", "size"), CASES)
def test_nothing_that_is_read_moves_when_the_overlay_goes(
    stage: Stage, talk: Talk, answer: str, reader: str, size: tuple[int, int]
) -> None:
    talk.page.set_viewport_size({"width": size[0], "height": size[1]})
    stage.plays["q"] = [
        turn(THOUGHTS, SUM, call("clock")),
        turn(LATER, *ANSWERS[answer]),
    ]
    before, after = _ended(stage, talk, "q", READERS[reader])
    assert before, "something is on the screen"
    moved = {text: after[text] - top for text, top in before.items() if text in after}
    assert moved.keys() == before.keys()
    assert max(abs(px) for px in moved.values()) <= TOLERANCE_PX, moved


def test_the_space_that_was_held_is_given_back_with_the_next_question(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(THOUGHTS, say(SHORT), gate(1), say(" x"))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("That is all.")
    stage.release(1)
    talk.settle()
    panel = talk.page.locator("headrace-steps-panel").first
    assert panel.evaluate("one => one.offsetHeight") > 60
    talk.ask("Hello there")
    assert panel.evaluate("one => one.offsetHeight") == 28 + 12


def test_tools_stay_inline_in_order_above_the_text_and_only_reasoning_is_closed(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [
        turn(THOUGHTS, SUM, call("clock")),
        turn(think("Once more."), call("calculator", expression="2*2")),
        turn(LATER, say("It is 408.")),
    ]
    talk.ask("q")
    rows = talk.page.locator("headrace-steps-panel > .row")
    assert rows.evaluate_all("rows => rows.map((one) => one.localName)") == [
        "headrace-reasoning-segment",
        "headrace-tool-call-segment",
        "headrace-tool-call-segment",
        "headrace-reasoning-segment",
        "headrace-tool-call-segment",
        "headrace-reasoning-segment",
    ]
    assert talk.page.locator(".tool-name").all_inner_texts() == [
        "calculator",
        "clock",
        "calculator",
    ]
    for tool in talk.page.locator(".tool-line").all():
        assert is_readable(tool)
        assert tool.evaluate("one => one.offsetHeight") == 28, "one row each"
    expect(talk.toggles).to_have_count(3)
    for toggle in talk.toggles.all():
        expect(toggle).to_have_attribute("aria-expanded", "false")


def test_the_focus_of_the_window_goes_to_show_reasoning(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(THOUGHTS, say("Hello."), gate(1), say(" x"))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("Hello.")
    talk.page.locator(".window").focus()
    stage.release(1)
    talk.settle()
    expect(talk.toggles).to_be_focused()

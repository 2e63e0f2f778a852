"""A long conversation: its newest messages come first, and earlier ones while one scrolls up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.browser.talk import Talk
from tests.server.filled import fill_conversation

COUNT = 130
TOP = "() => document.querySelector('headrace-chat').shadowRoot.querySelector('.scroller')"


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Stage]:
    """A server with a conversation of more than two pages."""
    texts = [f"Question {number}" for number in range(COUNT)]
    # In a thread of its own: the browser has an event loop in this one.
    with ThreadPoolExecutor() as pool:
        data = tmp_path / "data"
        pool.submit(fill_conversation, data, *texts, has_answers=True).result()
    stage = Stage(tmp_path / "data").open()
    yield stage
    stage.close()


def test_earlier_messages_come_while_one_scrolls_up_and_nothing_moves(
    filled: Stage, page: Page
) -> None:
    page.goto(f"{filled.url}/#/c/conv_0")
    questions = page.locator("headrace-user-message")
    expect(questions).to_have_count(50)
    last = page.get_by_text(f"Question {COUNT - 1}", exact=True)
    expect(last).to_be_in_viewport()
    button = page.get_by_role("button", name="Load earlier messages")
    expect(button).to_have_count(1)
    # The reader scrolls until the first loaded message is in sight.
    first = page.get_by_text(f"Question {COUNT - 50}", exact=True)
    page.locator(".scroller").hover()
    for _ in range(200):
        if questions.count() > 50:
            break
        page.mouse.wheel(0, -400)
        page.wait_for_timeout(20)
    expect(questions).to_have_count(100)
    # What was being read is near where it was: not above by all of the new messages.
    page.wait_for_timeout(800)
    assert page.evaluate(f"({TOP})().scrollTop") > 1_000
    box = first.bounding_box()
    assert box is not None
    assert -1_500 < box["y"] < 1_500


def test_a_button_loads_earlier_messages_until_the_first(filled: Stage, page: Page) -> None:
    page.goto(f"{filled.url}/#/c/conv_0")
    questions = page.locator("headrace-user-message")
    button = page.get_by_role("button", name="Load earlier messages")
    expect(questions).to_have_count(50)
    button.evaluate("one => one.click()")
    expect(questions).to_have_count(100)
    button.evaluate("one => one.click()")
    expect(questions).to_have_count(COUNT)
    expect(button).to_have_count(0)
    texts = questions.locator(".said").all_inner_texts()
    assert [text.strip() for text in texts] == [f"Question {number}" for number in range(COUNT)]


def test_a_button_keeps_the_reader_in_place(filled: Stage, page: Page) -> None:
    page.goto(f"{filled.url}/#/c/conv_0")
    expect(page.locator("headrace-user-message")).to_have_count(50)
    last = page.get_by_text(f"Question {COUNT - 1}", exact=True)
    expect(last).to_be_in_viewport()
    before = last.bounding_box()
    page.get_by_role("button", name="Load earlier messages").evaluate("one => one.click()")
    expect(page.locator("headrace-user-message")).to_have_count(100)
    page.wait_for_timeout(800)
    after = last.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) < 2


def test_a_new_answer_does_not_remove_the_earlier_ones(filled: Stage, page: Page) -> None:
    talk = Talk(page, filled.url)
    page.goto(f"{filled.url}/#/c/conv_0")
    questions = page.locator("headrace-user-message")
    expect(questions).to_have_count(50)
    page.get_by_role("button", name="Load earlier messages").evaluate("one => one.click()")
    expect(questions).to_have_count(100)
    talk.ask("hello")
    expect(questions).to_have_count(101)
    page.evaluate("() => document.querySelector('headrace-chat').chat.refresh()")
    page.wait_for_timeout(500)
    expect(questions).to_have_count(101)

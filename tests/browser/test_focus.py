"""Whoever has no mouse is somewhere after everything they do: what had the focus and is gone hands
it on, and a drawer holds it while it is open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from headrace.rehearsal.script import refuse, say, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import PATIENCE_MS, Talk, script

_FOCUS = script("focus")
_COMPOSE = script("compose")


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


@pytest.fixture
def phone(stage: Stage, browser: Browser) -> Iterator[Talk]:
    context = browser.new_context(viewport={"width": 375, "height": 700})
    context.set_default_timeout(PATIENCE_MS)
    yield Talk(context.new_page(), stage.url).open()
    context.close()


def _is_at(talk: Talk, name: str) -> None:
    """The focus comes to the thing of this name, and stays there."""
    talk.until(f"() => ({_FOCUS})() === {name!r}")
    talk.page.wait_for_timeout(120)
    assert talk.page.evaluate(_FOCUS) == name


def _press(talk: Talk, name: str, key: str = "Enter") -> None:
    button = talk.page.get_by_role("button", name=name, exact=True).first
    button.focus()
    button.press(key)


def test_after_sending_one_writes_on(talk: Talk) -> None:
    talk.composer.fill("hello")
    _press(talk, "Send")
    _is_at(talk, "Message")
    talk.settle()
    _is_at(talk, "Message")
    _press(talk, "Regenerate")
    _is_at(talk, "Message")


def test_an_example_leaves_the_composer_ready(talk: Talk) -> None:
    talk.page.locator(".hello button").first.press("Enter")
    _is_at(talk, "Message")


def test_trying_again_leaves_the_composer_ready(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(refuse(500))]
    talk.ask("q")
    _press(talk, "Retry")
    _is_at(talk, "Message")


def test_a_server_that_is_back_leaves_the_composer_ready(stage: Stage, talk: Talk) -> None:
    page = talk.page
    page.route("**/api/models", lambda route: route.abort())
    page.reload()
    again = page.get_by_role("button", name="Retry")
    again.focus()
    again.press("Enter")
    _is_at(talk, "Retry")
    page.unroute("**/api/models")
    again.press("Enter")
    expect(again).to_have_count(0)
    _is_at(talk, "Message")


@pytest.mark.parametrize("by", ["pressed", "scrolled"])
def test_the_way_to_the_newest_words_leaves_the_composer_ready(
    stage: Stage, talk: Talk, by: str
) -> None:
    stage.plays["q"] = [turn(say("\n\n".join(f"Line {at}." for at in range(80))))]
    talk.ask("q")
    newest = talk.page.get_by_role("button", name="Latest")
    talk.page.locator(".scroller").evaluate("one => (one.scrollTop = 0)")
    newest.focus()
    if by == "pressed":
        newest.press("Enter")
    else:
        talk.page.locator(".scroller").evaluate("one => (one.scrollTop = one.scrollHeight)")
    expect(newest).to_have_count(0)
    _is_at(talk, "Message")


def test_stopping_leaves_the_composer_ready(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(say("Half"), gate(1), say("."))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("Half")
    _press(talk, "Stop")
    talk.settle()
    _is_at(talk, "Message")


def test_the_editor_gives_the_focus_back(talk: Talk) -> None:
    talk.ask("hello")
    edit = "Edit"
    _press(talk, edit)
    talk.page.keyboard.press("Escape")
    _is_at(talk, edit)
    _press(talk, edit)
    _press(talk, "Cancel")
    _is_at(talk, edit)
    _press(talk, edit)
    talk.page.keyboard.press("Enter")
    _is_at(talk, edit)
    _press(talk, edit)
    talk.page.keyboard.type(" again")
    talk.page.keyboard.press("Enter")
    expect(talk.page.locator(".said")).to_have_text("hello again")
    _is_at(talk, "Message")


def test_turning_versions_stays_at_the_versions(talk: Talk) -> None:
    talk.ask("hello")
    for _ in range(2):
        _press(talk, "Regenerate")
        talk.settle()
    expect(talk.page.locator(".place")).to_have_text("3 / 3")
    _press(talk, "Earlier version")
    expect(talk.page.locator(".place")).to_have_text("2 / 3")
    _is_at(talk, "Earlier version")
    talk.page.keyboard.press("Enter")
    expect(talk.page.locator(".place")).to_have_text("1 / 3")
    _is_at(talk, "Later version")
    talk.page.keyboard.press("Enter")
    _is_at(talk, "Later version")


def test_renaming_and_keeping_end_at_the_row(talk: Talk) -> None:
    talk.ask("first")
    page = talk.page
    _press(talk, "Rename first")
    page.keyboard.press("Escape")
    _is_at(talk, "first")
    _press(talk, "Rename first")
    page.keyboard.type("second")
    page.keyboard.press("Enter")
    _is_at(talk, "second")
    _press(talk, "Pin second")
    expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    _is_at(talk, "Unpin second")


def test_deleting_goes_on_to_the_next_row(talk: Talk) -> None:
    talk.ask("older")
    _press(talk, "New conversation")
    _is_at(talk, "Message")
    talk.ask("newer")
    for title, after in [("newer", "older"), ("older", "New conversation")]:
        _press(talk, f"Delete {title}")
        expect(talk.page.locator(".list .title", has_text=title)).to_have_count(0)
        _is_at(talk, after)


def test_a_drawer_holds_the_focus_and_gives_it_back(phone: Talk) -> None:
    phone.ask("hello")
    page = phone.page
    _press(phone, "Conversations")
    _is_at(phone, "New conversation")
    # The page behind it is out of reach.
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(_FOCUS) not in {"Message", "Export", "Copy answer"}
    _press(phone, "Rename hello")
    page.keyboard.press("Escape")
    _is_at(phone, "hello")
    expect(page.locator(".drawer-open")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".drawer-open")).to_have_count(0)
    _is_at(phone, "Conversations")


def test_what_is_chosen_in_a_drawer_closes_it(phone: Talk) -> None:
    phone.ask("hello")
    _press(phone, "Conversations")
    _press(phone, "hello")
    _is_at(phone, "Conversations")
    _press(phone, "Conversations")
    _press(phone, "New conversation")
    _is_at(phone, "Message")


def test_a_screen_that_grows_has_no_drawer(phone: Talk) -> None:
    _press(phone, "Conversations")
    phone.page.set_viewport_size({"width": 1100, "height": 700})
    phone.send("hello")
    expect(phone.answers).to_have_count(1)


def test_an_input_method_has_its_keys_for_itself(stage: Stage, talk: Talk) -> None:
    """Escape drops a word that is being put together, and nothing else."""
    stage.plays["q"] = [turn(say("Half"), gate(1), say("."))]
    talk.send("q")
    page = talk.page
    expect(page.locator(".text")).to_contain_text("Half")
    page.evaluate(_COMPOSE)
    page.wait_for_timeout(200)
    assert talk.state("isBusy")
    stage.release(1)
    talk.settle()
    for open_, field in [("Edit", ".editor"), ("Rename q", ".rename")]:
        _press(talk, open_)
        page.locator(f"{field} textarea, {field} input").wait_for()
        page.evaluate(_COMPOSE)
        page.wait_for_timeout(100)
        expect(page.locator(field)).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(field)).to_have_count(0)

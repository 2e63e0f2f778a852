"""Settings that follow the user, languages, and signing in with a password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.browser.talk import PATIENCE_MS, Talk
from tests.server.accounts import PASSWORD, password_hash

SYSTEM = "You are a miller."


@pytest.fixture
def telling(tmp_path: Path) -> Iterator[Stage]:
    """A server whose model tells its instructions."""

    def answer(heard: Heard) -> Any:
        return turn(say(f"Told: {heard.system}"))

    transport = ScriptedTransport(answer)
    agent = Agent("vllm:any", transport=transport, policy=NEVER, instructions=SYSTEM)
    stage = Stage(tmp_path / "data", agent=agent).open()
    yield stage
    stage.close()


@pytest.fixture
def other(browser: Browser) -> Iterator[BrowserContext]:
    """Another browser, which has nothing of the first."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


def _open_settings(page: Page) -> Any:
    page.keyboard.press("Control+,")
    return page.get_by_role("dialog")


def test_settings_follow_the_user_to_another_browser(
    telling: Stage, page: Page, other: BrowserContext
) -> None:
    talk = Talk(page, telling.url).open()
    dialog = _open_settings(page)
    dialog.get_by_label("Theme").select_option("dark")
    expect(page.locator("headrace-chat[theme=dark]")).to_have_count(1)
    dialog.get_by_label("Send with").select_option("mod_enter")
    dialog.get_by_label("Instructions for all conversations").fill("Be brief.")
    dialog.get_by_label("Instructions for this conversation").fill("Speak Dutch.")
    dialog.get_by_label("Reasoning effort").select_option("high")
    expect(dialog.get_by_text("Saved.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(talk.composer).to_be_focused()
    talk.composer.fill("one")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(talk.composer).to_have_value("one\ntwo")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".text")).to_contain_text("Speak Dutch.")
    told = " ".join(page.locator(".text").inner_text().split())
    assert told == f"Told: {SYSTEM} Be brief. Speak Dutch."
    # Those of a conversation are not for the next one.
    dialog = _open_settings(page)
    here = dialog.get_by_label("Instructions for this conversation")
    expect(here).to_have_value("Speak Dutch.")

    there = Talk(other.new_page(), telling.url).open()
    expect(there.page.locator("headrace-chat[theme=dark]")).to_have_count(1)
    expect(there.page.get_by_label("Reasoning effort")).to_have_value("high")
    there.composer.fill("three")
    there.page.keyboard.press("Control+Enter")
    expect(there.page.locator(".text")).to_contain_text("Told:")
    assert "Dutch" not in there.page.locator(".text").inner_text()


def test_the_instructions_of_a_new_conversation_are_shown_before_it_is_loaded(
    telling: Stage, page: Page
) -> None:
    talk = Talk(page, telling.url).open()
    dialog = _open_settings(page)
    dialog.get_by_label("Instructions for this conversation").fill("Speak Dutch.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    # The conversation cannot be loaded: what is shown is what was sent.
    page.route("**/api/conversations**", lambda route: route.abort())
    talk.composer.fill("one")
    page.keyboard.press("Enter")
    expect(page.locator(".text")).to_contain_text("Speak Dutch.")
    here = _open_settings(page).get_by_label("Instructions for this conversation")
    expect(here).to_have_value("Speak Dutch.")


def test_a_setting_that_cannot_be_saved_is_told(stage: Stage, page: Page) -> None:
    Talk(page, stage.url).open()
    page.route("**/api/account/settings", lambda route: route.abort())
    dialog = _open_settings(page)
    dialog.get_by_label("Theme").select_option("dark")
    expect(dialog.get_by_role("alert")).to_contain_text("That did not work.")


def test_the_language_is_that_of_the_browser_until_one_is_chosen(
    stage: Stage, browser: Browser
) -> None:
    context = browser.new_context(locale="zh-CN", viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(stage.url)
    expect(page.get_by_role("button", name="新对话")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    talk = Talk(page, stage.url)
    page.get_by_role("textbox", name="消息").fill("hello")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="重新生成")).to_be_visible()
    talk.settle()
    dialog = _open_settings(page)
    dialog.get_by_label("语言").select_option("en")
    expect(page.locator(".new").first).to_have_text("New conversation")
    expect(dialog.get_by_role("heading", name="Settings")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    # It is kept at the server, and so for the next page.
    page.reload()
    expect(page.get_by_role("button", name="New conversation")).to_be_visible()
    expect(page.get_by_role("button", name="Regenerate")).to_be_visible()
    context.close()


def test_english_readers_do_not_load_another_language(stage: Stage, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    Talk(page, stage.url).open()
    assert not [url for url in asked if "/zh-" in url or "/dialog-" in url or "/purify" in url]


# --- signing in --------------------------------------------------------------------


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Stage]:
    """A server with a user, anna."""
    stage = Stage(tmp_path / "users", needs_sign_in=True).open()
    accounts = stage.service.accounts
    assert stage.do(lambda: accounts.add("anna", "user", password_hash(), 1))
    yield stage
    stage.close()


def _sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("User name").fill("anna")
    page.get_by_label("Password").fill(password)
    page.get_by_label("Password").press("Enter")


def test_people_sign_in_look_after_their_sign_ins_and_sign_out(
    guarded: Stage, page: Page, other: BrowserContext
) -> None:
    page.goto(guarded.url)
    expect(page.get_by_label("User name")).to_be_focused()
    expect(page.locator("headrace-sidebar")).to_be_hidden()
    _sign_in(page, "wrong password")
    expect(page.get_by_role("alert")).to_have_text("The user name or the password is wrong.")
    expect(page.get_by_label("Password")).to_be_focused()
    _sign_in(page)
    talk = Talk(page, guarded.url)
    expect(talk.composer).to_be_focused()
    talk.ask("hello")
    expect(page.locator(".sidebar .user")).to_have_text("anna")

    elsewhere = other.new_page()
    elsewhere.goto(guarded.url)
    _sign_in(elsewhere)
    expect(elsewhere.locator(".list .title")).to_have_text(["hello"])

    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Browsers that are signed in (2)").click()
    dialog.get_by_role("button", name="End the sign-in of").click()
    expect(dialog.get_by_text("Browsers that are signed in (1)")).to_be_focused()
    elsewhere.reload()
    expect(elsewhere.get_by_label("User name")).to_be_visible()

    dialog.get_by_text("Change password").first.click()
    dialog.get_by_label("Old password").fill("not the old one")
    dialog.get_by_label("New password").fill("another long password")
    dialog.get_by_label("New password").press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("The old password is wrong.")
    expect(dialog.get_by_label("Old password")).to_be_focused()
    dialog.get_by_label("Old password").fill(PASSWORD)
    dialog.get_by_label("New password").fill("another long password")
    dialog.get_by_label("New password").press("Enter")
    expect(dialog.get_by_text("The password is changed.")).to_be_visible()
    _sign_in(elsewhere, "another long password")
    expect(elsewhere.locator(".list .title")).to_have_text(["hello"])

    talk.page.evaluate("() => localStorage.setItem('headrace.draft.new', 'a secret')")
    dialog.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("User name")).to_be_visible()
    expect(page.get_by_text("hello")).to_have_count(0)
    kept = page.evaluate("() => Object.values(localStorage).join(' ')")
    assert "secret" not in kept
    page.reload()
    expect(page.get_by_label("User name")).to_be_visible()


def test_too_many_attempts_are_told_when_to_come_back(guarded: Stage, page: Page) -> None:
    page.goto(guarded.url)
    problem = {"error": {"code": "too_many", "message": "no", "request_id": "req_1"}}
    page.route(
        "**/api/sign-in",
        lambda route: route.fulfill(status=429, json=problem, headers={"retry-after": "7"}),
    )
    _sign_in(page)
    expect(page.get_by_role("alert")).to_have_text("Too many attempts. Try again in 7 seconds.")
    page.get_by_role("button", name="Use an access token").click()
    expect(page.get_by_label("Access token")).to_be_focused()

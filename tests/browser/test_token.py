"""A token that is wrong, or is not valid any longer: it is said, asked for again, and nothing that
was written is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.browser.talk import Talk
from tests.server.tokens import create_token


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path / "guarded", needs_token=True).open()
    yield stage
    stage.close()


def _token(stage: Stage) -> str:
    async def create() -> str:
        return str(create_token(stage.service, "anna", "", 0))

    return stage.do(create)


def _revoke_all(stage: Stage) -> None:
    async def revoke() -> None:
        for one in stage.service.access_tokens.all():
            stage.service.access_tokens.revoke(one.id)

    stage.do(revoke)


def _enter(page: Page, token: str) -> None:
    page.get_by_label("Access token").fill(token)
    page.get_by_label("Access token").press("Enter")


_REFUSED = "This token is not accepted."


def test_a_wrong_token_is_called_wrong(guarded: Stage, page: Page) -> None:
    page.goto(guarded.url)
    expect(page.get_by_label("Access token")).to_be_focused()
    expect(page.get_by_text(_REFUSED)).to_have_count(0)
    _enter(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text(_REFUSED)
    _enter(page, _token(guarded))
    talk = Talk(page, guarded.url)
    expect(talk.composer).to_be_focused()
    talk.ask("hello")


@pytest.mark.parametrize("is_begun", [False, True], ids=["new", "begun"])
def test_a_token_that_is_revoked_is_asked_for_again(
    guarded: Stage, page: Page, is_begun: bool
) -> None:
    page.goto(guarded.url)
    _enter(page, _token(guarded))
    talk = Talk(page, guarded.url)
    talk.composer.wait_for()
    if is_begun:
        talk.ask("hello")
    talk.composer.fill("precious words")
    # A request of the page itself would notice first, and ask for the token before the words go.
    page.wait_for_load_state("networkidle")
    _revoke_all(guarded)
    talk.composer.press("Enter")
    expect(page.get_by_role("alert")).to_have_text(_REFUSED)
    expect(page.get_by_label("Access token")).to_be_focused()
    _enter(page, _token(guarded))
    expect(talk.composer).to_have_value("precious words")
    expect(talk.composer).to_be_focused()
    talk.composer.press("Enter")
    expect(page.locator(".said").last).to_have_text("precious words")
    talk.settle()
    expect(talk.answers).to_have_count(1 + is_begun)


def test_a_message_that_is_being_edited_outlives_the_question_for_a_token(
    guarded: Stage, page: Page
) -> None:
    page.goto(guarded.url)
    _enter(page, _token(guarded))
    talk = Talk(page, guarded.url)
    talk.composer.wait_for()
    talk.ask("hello")
    talk.composer.fill("a draft")
    page.get_by_role("button", name="Edit").click()
    editor = page.locator(".editor textarea")
    editor.fill("half of what I")
    _revoke_all(guarded)
    talk.page.evaluate("document.querySelector('headrace-chat').chat.refresh()")
    expect(page.get_by_label("Access token")).to_be_focused()
    expect(editor).not_to_be_visible()
    expect(talk.composer).not_to_be_visible()
    _enter(page, _token(guarded))
    expect(editor).to_have_value("half of what I")
    expect(editor).to_be_focused()
    expect(talk.composer).to_have_value("a draft")
    editor.fill("half of what I wanted to say")
    editor.press("Enter")
    expect(page.locator(".said")).to_have_text("half of what I wanted to say")

"""The list of conversations: those of long ago come when they are asked for, and stay."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.stage import Stage
from tests.browser.talk import Talk, script

_FOCUS = script("focus")


def _fill(database_path: Path, last: int) -> None:
    """Older and older conversations, beside the one that there is."""
    with closing(sqlite3.connect(database_path)) as database, database:
        for number in range(2, last + 1):
            database.execute(
                "INSERT INTO conversations (id, owner, title, created_ms, updated_ms)"
                " SELECT 'c' || ?, owner, 'title ' || ?, created_ms, updated_ms - ?"
                " FROM conversations WHERE title = 'hello'",
                (number, number, number),
            )


def test_older_conversations_come_with_a_button_and_stay(
    stage: Stage, page: Page, tmp_path: Path
) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("hello")
    titles, more = page.locator(".list .title"), page.get_by_role("button", name="Show more")
    expect(titles).to_have_count(1)
    expect(more).to_have_count(0)
    _fill(tmp_path / "data" / "headrace.db", 230)
    page.reload()
    expect(titles).to_have_count(100)
    more.focus()
    more.press("Enter")
    expect(titles).to_have_count(200)
    # One goes on where the new ones begin.
    talk.until(f"() => ({_FOCUS})() === 'title 101'")
    more.focus()
    more.press("Enter")
    expect(titles).to_have_count(230)
    talk.until(f"() => ({_FOCUS})() === 'title 201'")
    expect(more).to_have_count(0)
    assert titles.all_inner_texts() == ["hello", *(f"title {at}" for at in range(2, 231))]
    # What an answer changes does not shut the list again.
    talk.ask("once more")
    page.get_by_role("button", name="title 230", exact=True).click()
    expect(page.get_by_role("heading", name="title 230")).to_be_visible()
    expect(titles).to_have_count(230)


def test_what_is_found_has_no_older_ones(stage: Stage, page: Page, tmp_path: Path) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("hello")
    _fill(tmp_path / "data" / "headrace.db", 120)
    page.reload()
    more = page.get_by_role("button", name="Show more")
    expect(more).to_have_count(1)
    page.get_by_label("Search conversations").fill("hello")
    expect(page.locator(".list .title")).to_have_count(1)
    expect(more).to_have_count(0)

"""What users keep, find and take with them: pins, unread marks, the list, deletions, searches,
exports, timelines and keys."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, Route, expect

from headrace.rehearsal.script import call, say, think, turn, usage
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

ROWS = ".list .title"


def _conversations(stage: Stage) -> list[Any]:
    async def read() -> list[Any]:
        return list(await stage.service.store.conversations("local"))

    return stage.do(read)


def _keep(kept: list[Route], route: Route) -> None:
    """Let a request wait until the test continues it."""
    kept.append(route)


def _begin_another(talk: Talk) -> None:
    talk.page.get_by_role("button", name="New conversation").click()
    talk.page.locator(".hello").wait_for()


def test_a_pin_stays_on_top(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("older")
    _begin_another(talk)
    talk.ask("newer")
    page.get_by_role("button", name="Pin older").click()
    expect(page.locator(".list h2")).to_have_text(["Pinned", "Today"])
    expect(page.locator(ROWS)).to_have_text(["older", "newer"])
    page.reload()
    expect(page.locator(ROWS)).to_have_text(["older", "newer"])
    page.locator(ROWS).first.focus()
    page.keyboard.press("p")
    expect(page.locator(ROWS)).to_have_text(["newer", "older"])
    expect(page.locator(ROWS).nth(1)).to_be_focused()


def test_another_conversation_can_begin_before_the_first_question_has_arrived(
    stage: Stage, page: Page
) -> None:
    talk = Talk(page, stage.url).open()
    kept: list[Route] = []
    page.route("**/api/chat", partial(_keep, kept))
    talk.send("early")
    while not kept:
        page.wait_for_timeout(10)
    _begin_another(talk)
    with page.expect_response("**/api/chat"):
        kept[0].continue_()
    expect(page.locator(ROWS)).to_have_text(["early"])
    expect(page.locator(".hello")).to_be_visible()


def test_an_answer_that_was_not_looked_at_is_marked(stage: Stage, context: BrowserContext) -> None:
    stage.plays["slow"] = [turn(think("Hm."), gate(1), say("Done."))]
    talk = Talk(context.new_page(), stage.url).open()
    talk.send("slow")
    expect(talk.page.locator(".streaming")).to_have_count(1)
    _begin_another(talk)
    stage.release(1)
    row = talk.page.locator(".list .title.unread")
    expect(row).to_have_text("slow")
    assert "unread" in (row.get_attribute("title") or "")
    row.click()
    expect(row).to_have_count(0)
    expect(talk.page.locator(".text")).to_have_text("Done.")
    # What was looked at while it ended is not unread, here and elsewhere.
    talk.ask("quick")
    talk.until(
        "() => !document.querySelector('headrace-chat').chat.store.open.conversation.is_unread"
    )
    assert [one.is_unread for one in _conversations(stage)] == [False]


def test_the_list_can_be_hidden_and_stays_so(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    new = page.get_by_role("button", name="New conversation")
    page.get_by_role("button", name="Hide the list").click()
    expect(new).to_be_hidden()
    page.reload()
    talk.composer.wait_for()
    expect(new).to_be_hidden()
    page.keyboard.press("Control+b")
    expect(new).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Search conversations")).to_be_focused()


def test_a_deletion_can_be_undone_even_after_a_reload(stage: Stage, page: Page) -> None:
    page.clock.install()
    talk = Talk(page, stage.url).open()
    talk.ask("precious")
    page.get_by_role("button", name="Delete precious").click()
    expect(page.locator(ROWS)).to_have_count(0)
    expect(talk.answers).to_have_count(0)
    expect(page.locator(".toast")).to_contain_text("Deleted “precious”.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(ROWS)).to_have_text(["precious"])
    page.clock.fast_forward(20_000)
    assert len(_conversations(stage)) == 1
    page.get_by_role("button", name="Delete precious").click()
    expect(page.locator(".toast")).to_be_visible()
    # A page that is closed too soon deletes nothing; the next one asks again.
    page.reload()
    expect(page.locator(".toast")).to_contain_text("precious")
    expect(page.locator(ROWS)).to_have_count(0)
    assert len(_conversations(stage)) == 1
    page.clock.fast_forward(20_000)
    expect(page.locator(".toast")).to_have_count(0)
    expect(page.locator(".none")).to_be_visible()
    assert _conversations(stage) == []


def test_a_search_shows_where_and_goes_there(stage: Stage, page: Page) -> None:
    lines = "\n\n".join(f"Line {number} of the text." for number in range(60))
    stage.plays["long"] = [turn(say(f"{lines}\n\nThe **Weir** of Delft.\n\n{lines}"))]
    stage.plays["edited"] = [turn(say("Another branch."))]
    talk = Talk(page, stage.url).open()
    talk.ask("long")
    talk.page.locator(".said").hover()
    page.get_by_role("button", name="Edit").click()
    page.locator(".editor textarea").fill("edited")
    page.locator(".editor textarea").press("Enter")
    expect(page.locator(".text")).to_have_text("Another branch.")
    talk.settle()
    _begin_another(talk)
    page.get_by_label("Search conversations").fill("weir delft")
    expect(page.locator(".snippet mark")).to_have_text(["Weir", "Delft"])
    page.locator(ROWS).click()
    found = page.locator(".text strong", has_text="Weir")
    expect(found).to_be_in_viewport()
    talk.until("() => CSS.highlights.get('headrace-found')?.size === 2")


def test_a_conversation_is_saved_in_three_formats(stage: Stage, page: Page, tmp_path: Path) -> None:
    talk = Talk(page, stage.url).open()
    stage.plays["What is 6 * 7?"] = [
        turn(think("I calculate."), call("calculator", expression="6 * 7")),
        turn(say("42.")),
    ]
    talk.ask("What is 6 * 7?")
    saved: dict[str, str] = {}
    for name in ("Markdown Questions", "Markdown with reasoning", "JSON"):
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("dialog").get_by_role("button", name=name).click()
        file = tmp_path / name
        download.value.save_as(file)
        saved[download.value.suggested_filename + name] = file.read_text("utf-8")
        expect(page.get_by_role("dialog")).to_have_count(0)
    short, long, whole = saved.values()
    assert "42." in short
    assert "I calculate" not in short
    assert "> I calculate." in long
    assert "6 * 7" in long
    assert len(json.loads(whole)["messages"]) == 2


def test_the_timeline_of_an_answer_is_one_click_away(stage: Stage, page: Page) -> None:
    stage.plays["go"] = [
        turn(think("I calculate."), call("calculator", expression="6 * 7")),
        turn(say("42."), usage(1_000, 200)),
    ]
    stage.plays["slow"] = [turn(think("Hm."), gate(1), say("Done."))]
    talk = Talk(page, stage.url).open()
    talk.ask("go")
    expect(page.locator(".gauge")).to_contain_text("tokens")
    talk.send("slow")
    expect(page.locator(".streaming")).to_have_count(1)
    button = page.get_by_role("button", name="Timeline").first
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Timeline")
    expect(dialog.locator("tbody th")).to_have_text(["Reasoning", "calculator", "Text"])
    expect(dialog.locator(".bar.tool")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    # Escape has closed the dialog, and has not stopped the answer.
    stage.release(1)
    expect(page.locator(".text").last).to_have_text("Done.")


def test_keys_edit_the_last_question_and_explain_themselves(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("first")
    talk.ask("second")
    talk.composer.focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".editor textarea")).to_be_focused()
    expect(page.locator(".editor textarea")).to_have_value("second")
    page.keyboard.press("Escape")
    talk.composer.fill("some text?")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".editor")).to_have_count(0)
    # A question mark that is written is just that.
    page.keyboard.type("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator(".scroller").focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.locator("dt").first).to_have_text("Enter")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

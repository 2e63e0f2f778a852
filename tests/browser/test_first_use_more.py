"""What somebody stumbled over who used the list, the dialogs and the sign-in for the first time."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from headrace.rehearsal.script import call, say, turn
from headrace.tools import ToolContext, tool
from tests.browser.stage import Stage, gate
from tests.browser.talk import PATIENCE_MS, Talk

_FORM = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City"},
        "size": {"enum": ["small", "large"], "title": "Size"},
    },
}


@tool(is_idempotent=True)
async def book_room(context: ToolContext) -> str:
    """Ask the user which room."""
    return f"booked: {await context.ask('Which room?', _FORM)}"


def test_a_search_needs_no_mouse_and_stops_no_answer(stage: Stage, page: Page) -> None:
    stage.plays["tea"] = [turn(say("The kettle is on."))]
    stage.plays["slow"] = [turn(say("Before. "), gate(), say("After."))]
    talk = Talk(page, stage.url).open()
    talk.ask("tea")
    page.keyboard.press("Control+Shift+o")
    talk.send("slow")
    expect(page.locator(".text")).to_contain_text("Before.")
    page.keyboard.press("Control+k")
    field, snippet = page.get_by_label("Search conversations"), page.locator(".list .snippet")
    page.keyboard.type("kettle")
    expect(snippet).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.locator(".list .title")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    # Escape is for the search alone.
    page.keyboard.press("Escape")
    expect(field).to_have_value("")
    expect(page.locator(".list .title")).to_have_count(2)
    stage.release()
    expect(page.locator(".text")).to_have_text("Before. After.")
    # Enter opens the first result, without waiting for the list.
    page.keyboard.type("kettle")
    page.keyboard.press("Enter")
    expect(page.locator(".text")).to_have_text("The kettle is on.")
    expect(snippet).to_have_count(1)
    # Results would hide a new conversation.
    page.keyboard.press("Control+Shift+o")
    expect(page.locator(".list .title")).to_have_count(2)
    expect(field).to_have_value("")


def test_undo_returns_to_the_conversation_that_was_open(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("precious")
    page.get_by_role("button", name="Delete precious").click()
    expect(page.locator(".hello")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(talk.answers).to_have_count(1)


def test_a_new_conversation_begins_without_the_list(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("first")
    begin = page.locator("header").get_by_role("button", name="New conversation")
    expect(begin).to_be_hidden()
    page.keyboard.press("Control+b")
    begin.click()
    expect(page.locator(".hello")).to_be_visible()
    expect(talk.composer).to_be_focused()
    page.set_viewport_size({"width": 390, "height": 740})
    talk.ask("second")
    begin.click()
    expect(page.locator(".hello")).to_be_visible()


def test_the_key_that_sends_also_sends_an_edited_question(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("one")
    page.evaluate(
        "document.querySelector('headrace-chat').chat.settings.change({ send_key: 'mod_enter' })"
    )
    talk.until("() => document.querySelector('headrace-chat').chat.settings.values.send_key")
    page.keyboard.press("ArrowUp")
    editor = page.locator(".editor textarea")
    expect(editor).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("two")
    expect(editor).to_have_value("one\ntwo")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".said")).to_have_text("one\ntwo")


def test_fields_and_shortcuts_look_meant(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data", tools=[book_room]).open()
    stage.plays["form"] = [turn(call("book_room")), turn(say("It is done."))]
    page = browser.new_page(viewport={"width": 320, "height": 740})
    page.set_default_timeout(PATIENCE_MS)
    talk = Talk(page, stage.url).open()
    talk.send("form")
    written, chosen = (page.get_by_label(name).bounding_box() for name in ("City", "Size"))
    assert written
    assert chosen
    assert written["height"] == chosen["height"]
    page.locator(".scroller").focus()
    page.keyboard.press("?")
    meaning = page.locator(".shortcut-list dd").first.bounding_box()
    assert meaning
    assert meaning["width"] > 200
    page.close()
    stage.close()


def test_what_a_stopped_answer_has_not_heard_is_in_the_queue_again(
    stage: Stage, page: Page
) -> None:
    stage.plays["work"] = [turn(say("On it. "), gate(), call("clock")), turn(say("Done."))]
    talk = Talk(page, stage.url).open()
    talk.send("work")
    expect(page.locator(".text")).to_contain_text("On it.")
    talk.send("in French")
    with page.expect_response("**/api/chat"):
        page.get_by_role("button", name="Send now").click()
    queue = page.get_by_role("list", name="Queue")
    expect(queue).to_have_count(0)
    page.get_by_role("button", name="Stop").click()
    expect(queue).to_contain_text("in French")

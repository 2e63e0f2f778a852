"""What somebody stumbled over who used the page for the first time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, FilePayload, Locator, Page, expect

from headrace.rehearsal.script import call, say, turn
from headrace.tools import ToolContext, tool
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

_COMMAND = (
    "make clean && make all && " + " && ".join(f"echo step {n}" for n in range(20)) + " # END"
)
_CODE = "```python\n" + "\n".join(f"value_{n} = {n}" for n in range(200)) + "\n```\n"
_DONE = turn(say("It is done."))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    @tool(needs_approval=True)
    async def run_shell(command: str) -> str:
        """Run a command."""
        return f"ran {command}"

    @tool(is_idempotent=True)
    async def ask_user(context: ToolContext) -> str:
        """Ask the user something."""
        return f"they want {await context.ask('Which of the two?')}"

    @tool
    async def crawl_pages(context: ToolContext) -> str:
        """Run for long."""
        context.progress("page 1", progress=0.1)
        await asyncio.sleep(1_000)
        return "found"

    @tool
    async def look_up() -> str:
        """Return at once."""
        return "in the list"

    stage = Stage(tmp_path / "data", tools=[run_shell, ask_user, crawl_pages, look_up]).open()
    three = (call("run_shell", command=_COMMAND + str(number)) for number in range(3))
    stage.plays = {
        "three": [turn(*three), _DONE],
        "one": [turn(call("run_shell", command=_COMMAND)), _DONE],
        "question": [turn(call("ask_user")), _DONE],
        "tools": [turn(call("crawl_pages"), call("look_up")), _DONE],
        "code": [turn(say(_CODE))],
        "gate": [turn(say("Before. "), gate(), say("After."))],
    }
    yield stage
    stage.close()


def _requests(page: Page) -> Locator:
    return page.locator(".request")


def _button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def test_the_whole_of_what_is_approved_can_be_read(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("one")
    arguments = page.get_by_label("Arguments")
    expect(arguments).to_be_visible()
    assert arguments.evaluate("one => one.scrollHeight - one.clientHeight") <= 2


def test_the_first_of_several_requests_is_shown_first_and_then_the_next(
    stage: Stage, page: Page
) -> None:
    """From its beginning, below the calls; and the page does not go back to one that was passed."""
    talk = Talk(page, stage.url).open()
    talk.send("three")
    expect(_requests(page)).to_have_count(3)
    page.wait_for_timeout(200)
    expect(_requests(page).first.locator(".tool-name")).to_be_in_viewport(ratio=1)
    expect(_button(page, "Approve").first).to_be_in_viewport(ratio=1)
    _button(page, "Approve").first.click()
    expect(_button(page, "Approve")).to_have_count(2)
    page.wait_for_timeout(200)
    expect(_requests(page).nth(1).locator(".tool-name")).to_be_in_viewport(ratio=1)
    _button(page, "Deny").last.scroll_into_view_if_needed()
    page.get_by_text("Deny with a reason").last.click()
    page.wait_for_timeout(200)
    expect(_button(page, "Deny").last).to_be_in_viewport(ratio=1)


def test_while_an_answer_waits_for_the_user_the_page_says_so(stage: Stage, page: Page) -> None:
    """In the row of the call, and where one would write the answer by mistake."""
    talk = Talk(page, stage.url).open()
    talk.send("question")
    expect(_requests(page)).to_have_count(1)
    expect(talk.composer).to_have_attribute("placeholder", "The answer waits for you above")
    expect(page.locator(".tool-state")).to_have_text("waiting for you")
    page.get_by_label("Answer", exact=True).fill("the first")
    _button(page, "Send answer").click()
    talk.settle()
    expect(talk.composer).to_have_attribute("placeholder", "Ask something")
    expect(_requests(page)).to_contain_text("the first")


def test_a_decided_request_shows_what_was_run_and_fits_on_a_phone(stage: Stage, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    talk = Talk(page, stage.url).open()
    talk.send("one")
    page.get_by_label("Arguments").fill('{"command": "true # ' + "x" * 200 + '"}')
    _button(page, "Approve").click()
    talk.settle()
    request = _requests(page)
    expect(request.locator(".tool-brief")).to_contain_text("true # x")
    assert request.evaluate("one => one.scrollWidth <= one.clientWidth")
    expect(request.get_by_text("Approved with changes")).to_be_in_viewport(ratio=1)


def test_the_status_names_a_tool_that_still_runs(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("tools")
    expect(page.locator(".tool-outcome", has_text="in the list")).to_be_visible()
    expect(page.locator(".phrase")).to_have_text("Using crawl pages")


def test_a_stop_that_does_not_reach_the_server_is_told(
    stage: Stage, page: Page, context: BrowserContext
) -> None:
    talk = Talk(page, stage.url).open()
    talk.send("gate")
    expect(page.get_by_text("Before.")).to_be_visible()
    context.set_offline(True)
    _button(page, "Stop").click()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
    context.set_offline(False)
    expect(page.get_by_role("alert")).to_have_count(0)
    _button(page, "Stop").click()
    talk.settle()
    expect(page.get_by_text("You stopped this answer.")).to_be_visible()


def test_the_copy_button_of_long_code_stays_in_sight(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    talk.ask("code")
    page.locator(".scroller").evaluate("one => one.scrollTop = one.scrollHeight / 2")
    page.wait_for_timeout(100)
    expect(page.get_by_role("button", name="Copy code")).to_be_in_viewport(ratio=1)


def test_the_list_shows_which_conversations_are_being_answered_and_which_wait(
    stage: Stage, page: Page
) -> None:
    """Also when that changes while another one is shown."""
    talk = Talk(page, stage.url).open()
    talk.send("gate")
    expect(page.get_by_text("Before.")).to_be_visible()
    expect(page).to_have_title("gate")
    page.get_by_role("button", name="New conversation").click()
    row = page.locator(".list .title", has_text="gate")
    expect(row).to_have_accessible_description(re.compile("answering"))
    stage.release()
    expect(row).not_to_have_accessible_description(re.compile("answering"))
    talk.send("question")
    expect(_requests(page)).to_have_count(1)
    expect(page).to_have_title("● question")
    page.get_by_role("button", name="New conversation").click()
    row = page.locator(".list .title", has_text="question")
    expect(row).to_have_accessible_description(re.compile("waiting for you"))
    expect(page).to_have_title("Headrace")


def test_a_file_that_was_refused_says_that_it_must_be_removed(stage: Stage, page: Page) -> None:
    talk = Talk(page, stage.url).open()
    file: FilePayload = {"name": "tool.bin", "mimeType": "", "buffer": b"\0\1" * 100}
    page.locator("input[type=file]").set_input_files([file])
    refused = page.locator(".file.refused")
    expect(refused).to_contain_text("Remove it to send.")
    edges = refused.evaluate(
        "one => one.getBoundingClientRect().right"
        " - one.querySelector('button').getBoundingClientRect().right"
    )
    assert edges < 16
    talk.send("hello")
    expect(talk.answers).to_have_count(0)
    _button(page, "Remove tool.bin").click()
    talk.ask("hello")

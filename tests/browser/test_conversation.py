"""The rest of a chat: the list, branches, copying, drafts, and a scroll that fights nobody."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from headrace.rehearsal.script import refuse, say, think, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk
from tests.server.tokens import create_token

CHAT = "document.querySelector('headrace-chat').chat"


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


def test_conversations_are_listed_searched_renamed_and_deleted(stage: Stage, talk: Talk) -> None:
    page = talk.page
    stage.plays["How deep is the harbour?"] = [turn(say("Deep enough."))]
    stage.plays["Where is the mountain?"] = [turn(say("Behind the harbour wall."))]
    talk.ask("How deep is the harbour?")
    page.get_by_role("button", name="New conversation").click()
    talk.ask("Where is the mountain?")
    rows = page.locator(".list .title")
    expect(rows).to_have_text(["Where is the mountain?", "How deep is the harbour?"])
    page.get_by_label("Search conversations").fill("deep")
    expect(page.locator(".list .name")).to_have_text(["How deep is the harbour?"])
    page.get_by_label("Search conversations").fill("")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Rename How deep is the harbour?").click()
    page.get_by_label("New title").fill("Harbour")
    page.get_by_label("New title").press("Enter")
    expect(rows).to_have_text(["Where is the mountain?", "Harbour"])
    page.get_by_role("button", name="Delete Where is the mountain?").click()
    expect(rows).to_have_text(["Harbour"])
    expect(talk.answers).to_have_count(0)
    rows.click()
    expect(page.locator(".text")).to_have_text("Deep enough.")


def test_an_answer_is_given_again_as_a_branch(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(say("Hello."))]
    talk.ask("q")
    talk.page.get_by_role("button", name="Regenerate").click()
    versions = talk.page.get_by_role("group", name="Versions")
    expect(versions).to_contain_text("2 / 2")
    versions.get_by_role("button", name="Earlier version").click()
    expect(versions).to_contain_text("1 / 2")
    talk.page.reload()
    expect(versions).to_contain_text("1 / 2")


def test_a_question_is_asked_in_other_words_as_a_branch(stage: Stage, talk: Talk) -> None:
    stage.plays["first"] = [turn(say("To the first."))]
    stage.plays["second"] = [turn(say("To the second."))]
    talk.ask("first")
    talk.page.locator(".said").hover()
    talk.page.get_by_role("button", name="Edit").click()
    editor = talk.page.locator(".editor textarea")
    editor.fill("second")
    editor.press("Enter")
    expect(talk.page.locator(".text")).to_have_text("To the second.")
    expect(talk.page.locator(".said")).to_have_text("second")
    versions = talk.page.locator(".user .branches")
    expect(versions).to_contain_text("2 / 2")
    versions.get_by_role("button", name="Earlier version").click()
    expect(talk.page.locator(".text")).to_have_text("To the first.")


def test_a_refused_question_can_be_tried_again(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(refuse(429, "Too many."))]
    talk.ask("q")
    expect(talk.page.locator(".notice")).to_contain_text("rate limit")
    stage.plays["q"] = [turn(say("Now."))]
    talk.page.get_by_role("button", name="Retry").click()
    expect(talk.page.locator(".text")).to_have_text("Now.")


def test_messages_code_and_reasoning_are_copied(stage: Stage, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    talk = Talk(context.new_page(), stage.url).open()
    stage.plays["q"] = [turn(think("I think so."), say("Run **this**:\n\n```sh\nls -l\n```\n"))]
    talk.ask("q")
    talk.open_all()
    for name, text in (
        ("Copy answer", "Run **this**:\n\n```sh\nls -l\n```\n"),
        ("Copy code", "ls -l"),
        ("Copy reasoning", "I think so."),
    ):
        talk.page.get_by_role("button", name=name).click()
        copied = talk.page.evaluate("() => navigator.clipboard.readText()")
        assert copied.strip() == text.strip()


def test_a_draft_survives_a_reload_and_belongs_to_its_conversation(talk: Talk) -> None:
    talk.ask("Hello there")
    talk.composer.fill("half a thought")
    talk.page.reload()
    expect(talk.composer).to_have_value("half a thought")
    talk.page.get_by_role("button", name="New conversation").click()
    expect(talk.composer).to_have_value("")


def test_tokens_and_time_are_told(talk: Talk) -> None:
    talk.ask("Hello there")
    expect(talk.page.locator(".cost")).to_contain_text("tokens")


def test_a_reader_who_looks_elsewhere_and_comes_back_is_left_alone(
    stage: Stage, talk: Talk
) -> None:
    lines = "\n\n".join(f"Line {number}." for number in range(80))
    stage.plays["q"] = [turn(say(lines), gate(1), say("\n\nEnd."))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("Line 79.")
    talk.page.locator(".text").hover()
    talk.page.mouse.wheel(0, -900)
    talk.until(f"() => {_SCROLLER}.scrollHeight - {_SCROLLER}.scrollTop > 1500")
    talk.page.wait_for_timeout(200)
    held = talk.page.evaluate(f"() => {_SCROLLER}.scrollTop")
    talk.page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    talk.page.wait_for_timeout(300)
    stage.release(1)
    talk.settle()
    assert talk.page.evaluate(f"() => {_SCROLLER}.scrollTop") == held


def test_a_reader_who_scrolls_up_is_left_alone(stage: Stage, talk: Talk) -> None:
    lines = "\n\n".join(f"Line {number}." for number in range(80))
    stage.plays["q"] = [turn(say(lines), gate(1), say("\n\n" + lines), gate(2), say("\n\nEnd."))]
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("Line 79.")
    at_end = f"() => (({_AT_END})({_SCROLLER}))"
    talk.until(at_end)
    talk.page.locator(".text").hover()
    talk.page.mouse.wheel(0, -900)
    talk.until(f"() => {_SCROLLER}.scrollHeight - {_SCROLLER}.scrollTop > 1500")
    talk.page.wait_for_timeout(200)
    held = talk.page.evaluate(f"() => {_SCROLLER}.scrollTop")
    stage.release(1)
    talk.until(f"() => {_SCROLLER}.querySelectorAll('.text .block').length > 150")
    assert talk.page.evaluate(f"() => {_SCROLLER}.scrollTop") == held
    talk.page.get_by_role("button", name="Latest").click()
    talk.until(at_end)
    stage.release(2)
    talk.settle()
    talk.until(at_end)


_AT_END = "(one) => one.scrollHeight - one.scrollTop - one.clientHeight < 3"
_SCROLLER = "document.querySelector('headrace-chat').shadowRoot.querySelector('.scroller')"


def test_what_the_server_refuses_goes_back_to_where_it_was_written(
    stage: Stage, talk: Talk
) -> None:
    busy = {"error": {"code": "busy", "message": "wait a little"}}
    keys: list[str | None] = []
    talk.page.on("request", lambda one: keys.append(one.headers.get("idempotency-key")))
    talk.page.route("**/api/chat", lambda route: route.fulfill(status=429, json=busy))
    talk.send("precious words")
    expect(talk.page.locator(".notice")).to_contain_text("Wait a little")
    expect(talk.composer).to_have_value("precious words")
    talk.page.reload()
    expect(talk.composer).to_have_value("precious words")
    talk.composer.press("Enter")
    expect(talk.page.locator(".notice")).to_contain_text("Wait a little")
    talk.page.unroute("**/api/chat")
    talk.page.get_by_role("button", name="Retry").click()
    talk.settle()
    expect(talk.page.locator(".text").last).to_be_visible()
    expect(talk.page.locator(".said")).to_have_text(["precious words"])
    sent = [key for key in keys if key]
    assert len(sent) == 3
    assert sent[1] == sent[2], "the same question is never asked twice"


def test_a_question_whose_answer_was_lost_on_the_way_is_shown_once(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["q"] = [turn(say("One."), gate(1), say(" Two."))]
    talk.ask("Hello there")

    def accept_and_break(route: Route) -> None:
        # The server takes it; what it says never comes.
        stage.do(lambda: _post(stage, route.request.post_data or "", route.request.headers))
        route.abort()

    talk.page.route("**/api/chat", accept_and_break)
    talk.send("q")
    expect(talk.page.locator(".streaming .text")).to_contain_text("One.")
    expect(talk.page.locator(".said")).to_have_text(["Hello there", "q"])
    expect(talk.page.locator(".notice")).to_have_count(0)
    stage.release(1)
    talk.settle()
    expect(talk.page.locator(".text").last).to_have_text("One. Two.")


async def _post(stage: Stage, body: str, headers: dict[str, str]) -> None:
    """Ask as the page would, and hang up."""
    async with aiohttp.ClientSession() as session:
        sent = {name: headers[name] for name in ("content-type", "idempotency-key")}
        async with session.post(f"{stage.url}/api/chat", data=body, headers=sent):
            pass


def test_the_last_click_wins(stage: Stage, talk: Talk) -> None:
    for name in ("first", "second"):
        stage.plays[name] = [turn(say(f"About the {name}."))]
        talk.page.get_by_role("button", name="New conversation").click()
        talk.ask(name)
    rows = talk.page.locator(".list .title")
    talk.page.get_by_role("button", name="New conversation").click()

    def late(route: Route) -> None:
        talk.page.wait_for_timeout(400)
        route.continue_()

    slow = talk.page.evaluate(
        "() => document.querySelector('headrace-chat').chat.store.conversations"
        ".find((one) => one.title === 'first').id"
    )
    talk.page.route(f"**/api/conversations/{slow}", late)
    rows.get_by_text("first").click()
    rows.get_by_text("second").click()
    talk.page.wait_for_timeout(900)
    expect(talk.page.locator(".text")).to_have_text("About the second.")


def test_what_is_written_while_the_first_question_goes_out_stays(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(say("Hello."))]

    def late(route: Route) -> None:
        talk.composer.type("and then")
        route.continue_()

    talk.page.route("**/api/chat", late)
    talk.send("q")
    talk.settle()
    expect(talk.page.locator(".text")).to_have_text("Hello.")
    expect(talk.composer).to_have_value("and then")


def test_a_conversation_that_was_deleted_elsewhere_is_not_shown(
    stage: Stage, context: BrowserContext
) -> None:
    one = Talk(context.new_page(), stage.url).open()
    one.ask("Hello there")
    other = Talk(context.new_page(), stage.url).open(one.conversation_id)
    expect(other.answers).to_have_count(1)
    one.page.evaluate(f"() => {CHAT}.remove({CHAT}.store.open.conversation.id)")
    expect(other.answers).to_have_count(0)
    expect(other.page.locator(".notice")).to_contain_text("gone")
    other.ask("Another")
    expect(other.answers).to_have_count(1)


def test_who_goes_elsewhere_and_comes_back_finds_the_answer_once(stage: Stage, talk: Talk) -> None:
    stage.plays["q"] = [turn(think("Hm."), say("One. "), gate(1), say("Two."))]
    talk.ask("Hello there")
    talk.page.get_by_role("button", name="New conversation").click()
    talk.send("q")
    expect(talk.page.locator(".text")).to_contain_text("One.")
    for _ in range(3):
        talk.page.locator(".list .title", has_text="Hello there").click()
        expect(talk.page.locator(".streaming")).to_have_count(0)
        talk.page.locator(".list .title", has_text="q").click()
        expect(talk.page.locator(".streaming .text")).to_have_text("One.")
    stage.release(1)
    talk.settle()
    expect(talk.page.locator(".text")).to_have_text("One. Two.")


def test_a_server_with_tokens_asks_for_one_and_keeps_it_out_of_the_address(
    browser: Browser, tmp_path: Path
) -> None:
    stage = Stage(tmp_path / "guarded", needs_token=True).open()

    async def create() -> str:
        return str(create_token(stage.service, "anna", "", 0))

    token = stage.do(create)
    page = browser.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(stage.url)
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    talk = Talk(page, stage.url)
    talk.composer.wait_for()
    talk.ask("Hello there")
    expect(page.locator(".text")).to_be_visible()
    page.reload()
    expect(page.locator(".list .title")).to_have_count(1)
    assert not [url for url in asked if token in url]
    page.context.close()
    stage.close()

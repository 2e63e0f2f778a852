"""Using the page: failures and recovery, keys, the list, choices that are kept, and the queue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk, script

_FOCUS = script("focus")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One server for all tests here: each has a conversation of its own."""
    stage = Stage(tmp_path_factory.mktemp("using")).open()
    stage.plays["short"] = [turn(say("Hello."))]
    yield stage
    stage.close()


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


def _keep(kept: list[Route], route: Route) -> None:
    """Let a request wait until the test continues it."""
    kept.append(route)


def _is_at(talk: Talk, name: str) -> None:
    talk.until(f"() => ({_FOCUS})() === {name!r}")


# --- failures ----------------------------------------------------------------------


def test_what_was_sent_by_retry_is_not_in_the_composer_any_more(talk: Talk) -> None:
    talk.page.route("**/api/chat", lambda route: route.abort())
    talk.send("short")
    expect(talk.composer).to_have_value("short")
    notice = talk.page.get_by_role("alert")
    assert notice.evaluate("one => one.closest('.bottom') !== null"), "it is told at the composer"
    talk.page.unroute("**/api/chat")
    talk.page.get_by_role("button", name="Retry").click()
    expect(talk.page.locator(".text")).to_have_text("Hello.")
    expect(talk.composer).to_have_value("")
    talk.page.reload()
    expect(talk.composer).to_have_value("")


def test_a_failure_is_told_at_the_composer_and_goes_when_it_is_over(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["lines"] = [turn(say("\n\n".join(f"Line {n}." for n in range(60))))]
    talk.ask("lines")
    talk.page.route("**/api/conversations**", lambda route: route.abort())
    talk.page.get_by_label("Search conversations").fill("x")
    notice = talk.page.locator(".notice")
    expect(notice).to_be_in_viewport()
    assert notice.evaluate("one => one.closest('.bottom') !== null")
    talk.page.unroute("**/api/conversations**")
    expect(notice).to_have_count(0)


def test_nobody_claims_that_a_server_goes_on_that_was_stopped(
    stage: Stage, talk: Talk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Stage(tmp_path_factory.mktemp("stopped")).open()
    other.plays["q"] = [turn(say("One."), gate(1), say("Two."))]
    killed = Talk(talk.page, other.url).open()
    killed.send("q")
    expect(talk.page.locator(".text")).to_contain_text("One.")
    other.close()
    offline = talk.page.locator(".offline")
    expect(offline).to_contain_text("No connection to the server. Reconnecting")
    expect(offline).not_to_contain_text("continues")


# --- the list ----------------------------------------------------------------------


def test_nothing_is_called_empty_before_it_is_loaded(stage: Stage, page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/conversations?*", lambda route: route.continue_())
    page.route("**/api/conversations", partial(_keep, held))
    page.goto(stage.url)
    expect(page.get_by_label("Loading conversations")).to_be_attached()
    expect(page.get_by_text("No conversations yet.")).to_have_count(0)
    while not held:
        page.wait_for_timeout(10)
    held[0].fulfill(json={"conversations": [], "next": None})
    expect(page.get_by_text("No conversations yet.")).to_be_visible()


def test_switching_shows_that_something_is_loaded(talk: Talk) -> None:
    talk.ask("short")
    first = talk.conversation_id
    talk.page.get_by_role("button", name="New conversation").click()
    held: list[Route] = []
    talk.page.route(f"**/api/conversations/{first}", partial(_keep, held))
    row = talk.page.locator(".list li", has=talk.page.locator(f"[data-id='{first}']"))
    row.locator(".title").click()
    expect(row).to_have_attribute("aria-busy", "true")
    expect(talk.page.get_by_label("Loading the conversation")).to_be_visible()
    # This continues what is held: the page may load it more than once, and the last one counts.
    talk.page.unroute(f"**/api/conversations/{first}")
    expect(talk.page.locator(".text")).to_have_text("Hello.")
    expect(row).not_to_have_attribute("aria-busy", "true")


def test_a_new_title_is_kept_when_the_field_is_left(talk: Talk) -> None:
    talk.ask("short")
    # Not the first one: the list may not have the new conversation yet.
    title = talk.page.locator(f".list .title[data-id='{talk.conversation_id}']")
    title.press("F2")
    talk.page.get_by_label("New title").fill("Another name")
    talk.page.locator(".text").click()
    expect(title).to_have_text("Another name")
    title.press("F2")
    talk.page.get_by_label("New title").fill("Lost")
    talk.page.get_by_label("New title").press("Escape")
    expect(title).to_have_text("Another name")


def test_a_title_is_cut_between_words(stage: Stage, talk: Talk) -> None:
    question = "Which of these two very different insurance contracts is the cheaper one?"
    stage.plays[question] = [turn(gate(5), say("x"))]
    talk.send(question)
    title = talk.page.locator("header h1")
    expect(title).to_have_text("Which of these two very different insurance contracts is the …")
    stage.release(5)
    talk.settle()


# --- keys --------------------------------------------------------------------------


def test_keys_work_wherever_the_focus_is(stage: Stage, talk: Talk) -> None:
    stage.plays["wait"] = [turn(say("One."), gate(2), say("Two."))]
    talk.send("wait")
    expect(talk.page.locator(".text")).to_contain_text("One.")
    talk.page.evaluate("() => document.activeElement.blur()")
    talk.page.keyboard.press("Escape")
    talk.settle()
    expect(talk.page.locator(".notice")).to_contain_text("You stopped")
    talk.page.evaluate("() => document.activeElement.blur()")
    talk.page.keyboard.press("Control+Shift+O")
    expect(talk.page.locator(".hello")).to_be_visible()
    _is_at(talk, "Message")


def test_a_conversation_is_one_tab_stop_and_the_list_can_be_skipped(talk: Talk) -> None:
    for _ in range(2):
        talk.ask("short")
        talk.page.get_by_role("button", name="New conversation").click()
    stops = (
        talk.page.locator(".list li")
        .first.locator("button")
        .evaluate_all("all => all.filter((one) => one.tabIndex >= 0).length")
    )
    assert stops == 1
    titles = talk.page.locator(".list .title")
    titles.first.focus()
    talk.page.keyboard.press("ArrowDown")
    expect(titles.nth(1)).to_be_focused()
    talk.page.keyboard.press("p")
    expect(talk.page.get_by_role("heading", name="Pinned")).to_be_visible()
    count = titles.count()
    talk.page.keyboard.press("Delete")
    expect(titles).to_have_count(count - 1)
    talk.page.evaluate("() => document.activeElement.blur()")
    skip = talk.page.get_by_role("button", name="Skip to the message field")
    skip.focus()
    talk.page.keyboard.press("Enter")
    _is_at(talk, "Message")


# --- choices -----------------------------------------------------------------------


def _agent(name: str) -> Agent:
    def play(heard: Heard) -> ScriptedTurn:
        return turn(think("Hm."), say(f"By {name}."))

    transport = ScriptedTransport(play, dialect="responses")
    return Agent(f"openai:{name}", transport=transport, api_key="k", policy=NEVER)


def test_model_and_effort_are_kept_and_another_model_can_answer_again(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    agents: Any = {"small": _agent("small"), "large": _agent("large")}
    stage = Stage(tmp_path_factory.mktemp("two"), agent=agents).open()
    talk = Talk(page, stage.url).open()
    page.get_by_label("Model").select_option("large")
    effort = page.get_by_label("Reasoning effort")
    options = effort.locator("option").all_inner_texts()
    assert [options[0], options[1]] == ["Default", "Off"]
    assert "Very high" in options
    effort.select_option("high")
    page.reload()
    expect(page.get_by_label("Model")).to_have_value("large")
    expect(effort).to_have_value("high")
    talk.ask("q")
    assert talk.texts == ["By large."]
    expect(page.locator(".cost")).to_contain_text("large")
    page.get_by_label("Regenerate with another model").select_option("small")
    expect(page.locator(".text")).to_have_text("By small.")
    talk.settle()
    expect(page.locator(".cost")).to_contain_text("small")
    stage.close()


def test_examples_read_like_questions_of_a_user(talk: Talk) -> None:
    cards = talk.page.locator(".hello li button")
    expect(cards).to_have_count(4)
    expect(cards.locator("strong")).to_have_count(4)
    assert all(one.endswith((".", "?")) for one in cards.locator("span").all_inner_texts())


# --- the queue ---------------------------------------------------------------------


def test_what_is_written_during_an_answer_is_asked_next(stage: Stage, talk: Talk) -> None:
    stage.plays["one"] = [turn(say("To one."), gate(11), say("!"))]
    for name in ("two", "three", "changed"):
        stage.plays[name] = [turn(say(f"To {name}."))]
    talk.send("one")
    expect(talk.page.locator(".text")).to_contain_text("To one.")
    for text in ("two", "three", "gone"):
        talk.send(text)
    queue = talk.page.get_by_role("list", name="Queue").get_by_role("listitem")
    expect(queue).to_have_count(3)
    queue.nth(2).get_by_label("Remove queued message").click()
    queue.nth(1).get_by_label("Edit queued message").click()
    expect(talk.composer).to_have_value("three")
    talk.send("changed")
    page = talk.page
    page.reload()
    expect(queue).to_have_count(2)
    stage.release(11)
    expect(page.locator(".said")).to_have_text(["one", "two", "changed"])
    expect(page.locator(".text").last).to_have_text("To changed.")
    expect(queue).to_have_count(0)
    talk.settle()


def test_a_queued_message_can_be_said_to_the_model_at_once(stage: Stage, talk: Talk) -> None:
    stage.plays["work"] = [turn(think("Hm."), gate(12), call("clock")), turn(say("As you say."))]
    stage.plays["in French"] = [turn(say("As you say."))]
    talk.send("work")
    expect(talk.overlay).to_contain_text("Hm.")
    talk.send("in French")
    talk.page.get_by_role("button", name="Send now").click()
    expect(talk.page.get_by_role("list", name="Queue")).to_have_count(0)
    sent = talk.page.get_by_role("list", name="Sent to the model")
    expect(sent).to_contain_text("in French")
    talk.page.reload()
    expect(sent).to_contain_text("The model reads it with its next step")
    stage.release(12)
    expect(talk.page.get_by_label("You, during the answer")).to_have_text("in French")
    expect(sent).to_have_count(0)
    expect(talk.page.locator(".text")).to_have_text("As you say.")
    talk.settle()
    expect(talk.answers).to_have_count(1)


def test_a_queue_outlives_a_question_that_is_not_sent(stage: Stage, talk: Talk) -> None:
    stage.plays["then"] = [turn(say("To then."))]
    kept: list[Route] = []
    talk.page.route("**/api/chat", partial(_keep, kept))
    talk.send("short")
    while not kept:
        talk.page.wait_for_timeout(10)
    talk.send("then")
    kept[0].abort()
    expect(talk.composer).to_have_value("short")
    talk.page.unroute("**/api/chat")
    expect(talk.page.get_by_role("list", name="Queue")).to_contain_text("then")
    talk.page.get_by_role("button", name="Retry").click()
    expect(talk.page.locator(".said")).to_have_text(["short", "then"])
    expect(talk.page.locator(".text").last).to_have_text("To then.")
    talk.settle()


def test_a_stopped_answer_does_not_send_the_queue(stage: Stage, talk: Talk) -> None:
    stage.plays["stop"] = [turn(say("One."), gate(13), say("!"))]
    talk.send("stop")
    expect(talk.page.locator(".text")).to_contain_text("One.")
    talk.send("short")
    talk.page.keyboard.press("Escape")
    talk.settle()
    talk.page.wait_for_timeout(200)
    expect(talk.answers).to_have_count(1)
    talk.page.get_by_role("button", name="Send now").click()
    expect(talk.page.locator(".text").last).to_have_text("Hello.")
    talk.settle()


# --- small and forced --------------------------------------------------------------


def test_it_works_in_320_px_and_at_200_percent(stage: Stage, browser: Browser) -> None:
    stage.plays["wide"] = [
        turn(think("Hm."), call("calculator", expression="12 * 34")),
        turn(
            say(
                "| a | b | c | d |\n|---|---|---|---|\n| one | two | three | four |\n\n`"
                + "x" * 90
                + "`"
            )
        ),
    ]
    for width, height in ((320, 640), (590, 410)):
        context = browser.new_context(viewport={"width": width, "height": height})
        talk = Talk(context.new_page(), stage.url).open()
        talk.ask("wide")
        fits = "() => document.documentElement.scrollWidth <= innerWidth"
        assert talk.page.evaluate(fits)
        send = talk.page.get_by_role("button", name="Send").bounding_box()
        assert send is not None
        assert send["x"] + send["width"] <= width
        text = talk.page.locator(".text").bounding_box()
        assert text is not None
        assert text["width"] >= width - 60
        context.close()

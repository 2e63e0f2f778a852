"""`<headrace-chat>` in a page of somebody else: properties, events, layouts, and manners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, say, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import tool
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage
from tests.browser.talk import Talk, script
from tests.server.tokens import create_token

_HOST = script("host")


def _play(heard: Heard) -> ScriptedTurn:
    if heard.user == "pay" and not any(one.result for one in heard.since_user):
        return turn(call("pay", amount=5))
    if heard.user == "weather" and not any(one.result for one in heard.since_user):
        return turn(call("weather", city="Oslo"))
    return turn(say(f"To {heard.user}."))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool
    async def weather(city: str) -> dict[str, Any]:
        """Tell the weather."""
        return {"city": city, "degrees": 7}

    def agent(name: str) -> Agent:
        return Agent(
            f"openai:{name}",
            transport=ScriptedTransport(_play, dialect="responses"),
            api_key="k",
            tools=[pay, weather],
            policy=NEVER,
        )

    agents: Any = {"one": agent("one"), "two": agent("two")}
    stage = Stage(tmp_path_factory.mktemp("element"), agent=agents).open()
    yield stage
    stage.close()


def _embed(page: Page, stage: Stage, **options: Any) -> Talk:
    """Make a page of somebody else, with one or more chats in it."""
    page.goto(f"{stage.url}/healthz")
    page.evaluate(_HOST, {"count": 1, "width": 420, "attributes": {}, **options})
    return Talk(page, stage.url)


def test_an_embed_takes_neither_the_focus_nor_the_scroll(stage: Stage, page: Page) -> None:
    talk = _embed(page, stage, above=2_000)
    talk.until("() => document.querySelector('headrace-chat').chat?.models.length")
    page.wait_for_timeout(150)
    assert page.evaluate("() => [scrollY, document.activeElement === document.body]") == [0, True]


def test_a_narrow_box_has_a_drawer_on_a_wide_screen(stage: Stage, page: Page) -> None:
    talk = _embed(page, stage)
    talk.composer.wait_for()
    expect(page.locator("headrace-sidebar")).to_be_hidden()
    text = talk.composer.bounding_box()
    assert text is not None
    assert text["width"] > 330
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(page.locator("headrace-sidebar")).to_be_visible()
    page.evaluate("() => { document.querySelector('headrace-chat').style.width = '1000px'; }")
    expect(page.locator(".drawer-open")).to_have_count(0)
    expect(page.locator("headrace-sidebar")).to_be_visible()


def test_what_happens_is_told_by_events_and_set_by_properties(stage: Stage, page: Page) -> None:
    talk = _embed(page, stage, attributes={"agent": "two"})
    talk.send("pay")
    page.get_by_role("button", name="Approve").click()
    talk.settle()
    names = page.evaluate("() => window.told.map((one) => one.type)")
    wanted = {"conversation-changed", "answer-started", "input-requested", "answer-finished"}
    assert sorted(names) == sorted(wanted)
    expect(page.locator(".cost")).to_contain_text("two")
    expect(page.get_by_label("Model")).to_have_count(0)
    chat = "document.querySelector('headrace-chat')"
    first = page.evaluate(f"() => {chat}.conversation")
    assert first.startswith("conv")
    page.evaluate(f"() => {{ {chat}.conversation = null; }}")
    expect(page.locator(".hello")).to_be_visible()
    page.evaluate(f"(id) => {{ {chat}.conversation = id; }}", first)
    expect(page.locator(".text")).to_have_text("To pay.")
    page.route("**/api/conversations*", lambda route: route.abort())
    page.evaluate(f"() => {chat}.chat.list.load().catch(() => 0)")
    page.evaluate(f"() => {chat}.chat.refresh()")
    assert page.evaluate("() => window.told.at(-1).type") == "error"


def test_a_page_shows_the_results_of_its_tools_by_its_own_components(
    stage: Stage, page: Page
) -> None:
    talk = _embed(page, stage)
    page.evaluate(
        """() => { document.querySelector('headrace-chat').toolViews = {
          weather: ({ args, result }) => Object.assign(document.createElement('b'),
            { textContent: result && `${args.city}: ${result.degrees} degrees` }) }; }"""
    )
    talk.ask("weather")
    page.locator("summary.tool-line").click()
    expect(page.locator(".own-view b")).to_have_text("Oslo: 7 degrees")


def test_a_token_comes_from_a_function(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    guarded = Stage(tmp_path_factory.mktemp("guarded"), needs_token=True).open()

    async def create() -> str:
        return str(create_token(guarded.service, "anna", "", 0))

    talk = _embed(page, guarded, token=guarded.do(create))
    talk.ask("Hello there")
    expect(page.locator(".text")).to_be_visible()
    guarded.close()


@pytest.mark.parametrize("layout", ["panel", "bubble"])
def test_a_panel_and_a_bubble_are_the_conversation_alone(
    stage: Stage, page: Page, layout: str
) -> None:
    talk = _embed(page, stage, width=900, attributes={"layout": layout})
    if layout == "bubble":
        expect(page.locator("textarea")).to_have_count(0)
        page.get_by_role("button", name="Open the chat").click()
        expect(talk.composer).to_be_focused()
        for place in (page.locator(".chat > main > header"), talk.composer):
            expect(place).to_be_in_viewport(ratio=1)
    talk.ask("hello")
    expect(page.locator(".text")).to_have_text("To hello.")
    expect(page.locator("headrace-sidebar")).to_be_hidden()
    expect(page.get_by_role("button", name="Conversations", exact=True)).to_be_hidden()
    if layout == "bubble":
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Open the chat")).to_be_focused()


def test_two_on_a_page_do_not_know_of_each_other(stage: Stage, page: Page) -> None:
    _embed(page, stage, count=2, width=320)
    boxes = page.get_by_role("textbox", name="Message", exact=True)
    expect(boxes).to_have_count(2)
    for number, text in enumerate(("left", "right")):
        boxes.nth(number).fill(text)
        boxes.nth(number).press("Enter")
    chats = page.locator("headrace-chat")
    for number, text in enumerate(("left", "right")):
        expect(chats.nth(number).locator(".text")).to_have_text(f"To {text}.")
        expect(chats.nth(number).locator(".streaming")).to_have_count(0)
    fits = "all => all.every((one) => one.scrollWidth <= one.clientWidth)"
    assert chats.evaluate_all(fits)


def test_parts_can_be_styled_from_outside(stage: Stage, page: Page) -> None:
    talk = _embed(page, stage)
    talk.composer.wait_for()
    page.evaluate(
        """() => { const sheet = new CSSStyleSheet();
        sheet.replaceSync('headrace-chat::part(composer) { border-radius: 3px; }');
        document.adoptedStyleSheets = [sheet]; }"""
    )
    radius = page.locator(".composer").evaluate("one => getComputedStyle(one).borderRadius")
    assert radius == "3px"

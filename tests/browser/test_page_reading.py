"""Reading: what is asked is shown, rows stay under the pointer, text looks like what it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from headrace.content import ImageContent
from headrace.engine import Agent
from headrace.rehearsal.request_reader import Heard
from headrace.rehearsal.script import ScriptedTurn, call, error, finish, say, think, turn
from headrace.rehearsal.transport import ScriptedTransport
from headrace.tools import ToolContext, tool
from headrace.transport.retry import NEVER
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

LINES = "\n\n".join(f"Line {number} of a longer answer." for number in range(60))
SCROLLER = "document.querySelector('headrace-chat').shadowRoot.querySelector('.scroller')"
AT_END = f"() => {SCROLLER}.scrollHeight - {SCROLLER}.scrollTop - {SCROLLER}.clientHeight < 3"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One server for all tests here: each has a conversation of its own."""
    stage = Stage(tmp_path_factory.mktemp("reading")).open()
    stage.plays["long"] = [turn(think("Hm. " * 80), say(LINES))]
    stage.plays["short"] = [turn(say("Hello."))]
    yield stage
    stage.close()


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    return Talk(page, stage.url).open()


def _top(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["y"]


def _keep(kept: list[Any], route: Route) -> None:
    """Let a request wait until the test continues it."""
    kept.append(route)


def _style(place: Locator, name: str) -> str:
    return str(place.evaluate("(one, name) => getComputedStyle(one)[name]", name))


def test_what_is_sent_edited_or_regenerated_is_shown_wherever_the_reader_was(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["next"] = [turn(say("Next."))]
    talk.ask("long")
    for act in ("send", "regenerate", "edit"):
        talk.page.evaluate(f"() => {{ {SCROLLER}.scrollTop = 0; }}")
        expect(talk.page.get_by_role("button", name="Latest")).to_be_visible()
        if act == "send":
            talk.ask("next")
        elif act == "regenerate":
            talk.page.get_by_role("button", name="Regenerate").last.evaluate("one => one.click()")
        else:
            talk.page.get_by_role("button", name="Edit").last.evaluate("one => one.click()")
            talk.page.locator(".editor textarea").fill("long")
            talk.page.locator(".editor textarea").press("Enter")
        talk.until(AT_END)
        talk.settle()
        talk.until(AT_END)


def test_a_row_that_is_clicked_stays_where_it_is(stage: Stage, talk: Talk) -> None:
    stage.plays["rows"] = [
        turn(think("\n\n".join(["Hm."] * 60)), call("clock")),
        turn(say("So. " * 60)),
    ]
    talk.ask("rows")
    talk.until(AT_END)
    toggle = talk.toggles.first
    for row in (toggle, toggle, talk.page.locator("summary.tool-line").first):
        before = _top(row)
        row.click()
        talk.page.wait_for_timeout(120)
        assert abs(_top(row) - before) <= 2


def test_markdown_looks_like_what_it_is(stage: Stage, talk: Talk) -> None:
    stage.plays["marks"] = [
        turn(
            say(
                "# One\n\nText.\n\n## Two\n\n- [x] done\n- [ ] open\n\n"
                "| a | b | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |\n\n"
                "```\nno language\n```\n\n> a\n>\n> > b\n\n"
                "H<sub>2</sub>O and <kbd>Ctrl</kbd>, said once[^1].\n\n"
                "<details>\n<summary>More</summary>\n\nHidden **words**.\n\n</details>\n\n"
                "[^1]: By *somebody*.\n"
            )
        )
    ]
    talk.ask("marks")
    text = talk.page.locator(".text").last
    done, todo = text.locator(".task").all()
    assert _style(done, "backgroundColor") != _style(todo, "backgroundColor")
    assert _style(done, "borderTopWidth") != "0px"
    assert _style(text.locator("li").first, "listStyleType") == "none"
    assert [_style(one, "textAlign") for one in text.locator("td").all()] == [
        "start", "center", "end",
    ]  # fmt: skip
    assert _style(text.locator("td").first, "fontVariantNumeric") == "tabular-nums"
    line = text.locator("pre code").evaluate("one => one.getClientRects()[0].height")
    assert _style(text.locator("pre"), "lineHeight") == "20px", line
    pre = text.locator("pre").bounding_box()
    assert pre is not None
    assert pre["height"] <= 20 + 2 * 12 + 2
    assert _style(text.locator("blockquote blockquote"), "marginLeft") == "0px"
    figure, copy = text.locator("figure"), text.get_by_role("button", name="Copy code")
    outer, inner = figure.bounding_box(), copy.bounding_box()
    assert outer is not None
    assert inner is not None
    assert outer["x"] + outer["width"] - inner["x"] - inner["width"] < 12
    expect(text.locator("sub")).to_have_text("2")
    expect(text.locator("kbd")).to_have_text("Ctrl")
    expect(text.locator("sup.footnote")).to_have_text("1")
    expect(text.locator(".footnotes")).to_have_text("1 By somebody.")
    expect(text.locator("details strong")).to_be_hidden()
    text.get_by_text("More").click()
    expect(text.locator("details strong")).to_be_visible()
    gap = "h2 => h2.getBoundingClientRect().top - h2.closest('.block').previousElementSibling"
    gap += ".lastElementChild.getBoundingClientRect().bottom"
    assert text.locator("h2").evaluate(gap) == 24
    assert _style(text.locator("h2"), "marginBottom") == "8px"
    assert _style(text.locator("h1"), "marginTop") == "0px"


_WATCH_CODE = """() => {
    window.settledCode = [];
    const keywords = (block) =>
        [...block.querySelectorAll(".hljs-keyword")].map((one) => one.textContent).join(" ");
    const text = document.querySelector("headrace-chat").shadowRoot.querySelector(".text");
    new MutationObserver((changes) => {
        for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes]))
            if (node.className === "block" && node.querySelector(".copy"))
                window.settledCode.push(keywords(node));
    }).observe(text, { childList: true, subtree: true });
}"""


def test_code_in_a_list_shows_no_marks_while_it_streams_and_is_colored_line_by_line(
    stage: Stage, talk: Talk
) -> None:
    stage.plays["code"] = [
        turn(
            say("1. First:\n   ```python\n   print(1)\n   ab"),
            gate(1),
            say("c\n   ```\n\nThen:\n\n```python\nreturn 1\nwhi"),
            gate(2),
            say("le x\n```\n"),
        )
    ]
    talk.send("code")
    text = talk.page.locator(".text")
    expect(text.locator("li pre")).to_have_text("print(1)\nab\n")
    stage.release(1)
    expect(text.locator("pre").nth(1)).to_contain_text("whi")
    expect(text.locator(".block").last.locator(".hljs-keyword")).to_have_text("return")
    assert "`" not in (text.text_content() or "")
    talk.page.evaluate(_WATCH_CODE)
    stage.release(2)
    talk.settle()
    assert talk.page.evaluate("() => window.settledCode") == ["return while"], "plain for a frame"


def test_right_to_left_text_runs_from_the_right(stage: Stage, talk: Talk) -> None:
    stage.plays["שלום"] = [turn(say("שלום לכולם.\n\nHello.\n\n- אחת\n"))]
    talk.ask("שלום")
    blocks = talk.page.locator(".text .block")
    assert [_style(one, "direction") for one in blocks.all()] == ["rtl", "ltr", "rtl"]
    assert _style(talk.page.locator(".said"), "direction") == "rtl"
    talk.composer.fill("שלום")
    assert _style(talk.composer, "direction") == "rtl"


def test_the_first_question_does_not_jump(stage: Stage, talk: Talk) -> None:
    stage.plays["first"] = [turn(gate(3), say("x"))]
    released: list[Any] = []
    talk.page.route("**/api/chat", partial(_keep, released))
    talk.send("first")
    said = talk.page.locator(".said")
    before = _top(said)
    talk.until("() => true")
    while not released:
        talk.page.wait_for_timeout(10)
    released[0].continue_()
    expect(talk.page.locator("headrace-user-message")).to_have_count(1)
    assert _top(said) == before
    stage.release(3)
    talk.settle()


def test_a_thought_without_an_answer_is_told(stage: Stage, talk: Talk) -> None:
    stage.plays["nothing"] = [turn(think("Hm."))]
    talk.ask("nothing")
    expect(talk.page.locator(".empty-answer")).to_contain_text("answered with nothing")


def test_each_end_has_its_own_remedy(stage: Stage, talk: Talk) -> None:
    stage.plays["full"] = [turn(say("One"), error("context_overflow", "Too long."))]
    stage.plays["cut"] = [turn(say("One and"), finish("max_tokens"))]
    stage.plays["Continue."] = [turn(say("two."))]
    talk.ask("cut")
    expect(talk.page.get_by_role("button", name="Retry")).to_have_count(0)
    talk.page.get_by_role("button", name="Continue").click()
    expect(talk.page.locator(".text").last).to_have_text("two.")
    talk.settle()
    talk.ask("full")
    talk.page.locator(".notice").get_by_role("button", name="New conversation").click()
    expect(talk.page.locator(".hello")).to_be_visible()


def test_a_long_question_is_folded_until_it_is_opened(stage: Stage, talk: Talk) -> None:
    question = "\n".join(f"line {number}" for number in range(40))
    stage.plays[question] = [turn(say("Hello."))]
    talk.composer.fill(question)
    talk.page.get_by_role("button", name="Send").click()
    talk.settle()
    said = talk.page.locator(".said")
    assert float(said.evaluate("one => one.clientHeight")) < 260
    talk.page.get_by_role("button", name="Show more").click()
    assert float(said.evaluate("one => one.clientHeight")) > 800


def test_paper_has_the_conversation_whole_and_nothing_else(stage: Stage, talk: Talk) -> None:
    talk.ask("long")
    talk.page.emulate_media(media="print")
    expect(talk.page.locator("headrace-sidebar")).to_be_hidden()
    expect(talk.composer).to_be_hidden()
    height = talk.page.evaluate("() => document.documentElement.scrollHeight")
    assert height > 2000
    talk.page.emulate_media(media="screen")


def test_the_model_and_the_time_of_an_answer_are_told(talk: Talk) -> None:
    talk.ask("short")
    expect(talk.page.locator(".cost")).to_contain_text("rehearsed")
    expect(talk.page.locator(".cost time")).to_be_visible()


# --- tools -------------------------------------------------------------------------

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DIFF = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"


class _Tools:
    """Tools whose end the test decides."""

    def __init__(self) -> None:
        self.done = asyncio.Event()

    def agent(self) -> Agent:
        done = self.done

        @tool
        async def slow(context: ToolContext) -> str:
            """Search for long."""
            context.progress("page 3 of 8", progress=0.375)
            await done.wait()
            return "found"

        @tool
        async def fast() -> str:
            """Return at once."""
            return "here"

        @tool
        async def broken() -> str:
            """Fail."""
            raise RuntimeError("no such thing")

        @tool
        async def draw() -> ImageContent:
            """Draw a picture."""
            return ImageContent(media_type="image/png", data=PIXEL)

        @tool
        async def rows() -> list[dict[str, Any]]:
            """Return a table."""
            return [{"name": "a", "size": 1}, {"name": "b", "size": 2}]

        @tool
        async def compare() -> str:
            """Return a difference."""
            return DIFF

        return Agent(
            "openai:rehearsed",
            transport=ScriptedTransport(_play, dialect="responses"),
            api_key="k",
            tools=[slow, fast, broken, draw, rows, compare],
            policy=NEVER,
        )


def _play(heard: Heard) -> ScriptedTurn:
    if any(message.result for message in heard.since_user):
        return turn(think("So."), say("Done."))
    if heard.user == "parallel":
        calls = [call("slow"), *(call("fast") for _ in range(12)), call("broken")]
        return turn(think("Hm."), *calls)
    return turn(call("draw"), call("rows"), call("compare"))


@pytest.fixture
def tools(tmp_path: Path, page: Page) -> Iterator[tuple[_Tools, Stage, Talk]]:
    made = _Tools()
    stage = Stage(tmp_path / "tools", agent=made.agent()).open()
    yield made, stage, Talk(page, stage.url).open()
    stage.close()


def test_each_tool_ends_when_it_ends_and_the_running_one_stays_in_view(
    tools: tuple[_Tools, Stage, Talk],
) -> None:
    made, stage, talk = tools
    talk.send("parallel")
    window = talk.page.locator(".window")
    slow = window.locator("[data-tool]", has_text="slow")
    expect(window.locator("[data-tool].completed")).to_have_count(12)
    expect(slow).to_contain_text("page 3 of 8")
    expect(slow).to_contain_text("38 %")
    expect(slow.locator("progress")).to_be_visible()
    expect(slow.locator(".tool-args")).to_be_hidden()
    assert slow.evaluate("one => one.getBoundingClientRect().height") <= 30, "one row a tool"
    outer, inner = window.bounding_box(), slow.locator(".tool-name").bounding_box()
    assert outer is not None
    assert inner is not None
    assert outer["y"] <= inner["y"] <= outer["y"] + outer["height"] - 10
    talk.page.wait_for_timeout(1_100)

    async def end() -> None:
        made.done.set()

    stage.do(end)
    talk.settle()
    states = talk.page.locator("headrace-tool-call-segment .tool-state").all_inner_texts()
    assert states[0] == "1 s" or states[0].endswith("s")
    assert all("ms" in one or one.startswith("0.") for one in states[1:13]), states
    summary = re.compile(r"^Worked for \d+ s · 14 tools, 1 failed$")
    expect(talk.page.locator(".summary").first).to_have_text(summary)


def test_results_of_tools_are_shown_as_what_they_are(
    tools: tuple[_Tools, Stage, Talk],
) -> None:
    _, _, talk = tools
    talk.ask("results")
    rows = talk.page.locator("headrace-tool-call-segment")
    briefs = ("image/png", "2 rows", "+1 −1 lines")
    for row, brief in zip(rows.all(), briefs, strict=True):
        expect(row.locator(".tool-line")).to_contain_text(brief)
    for row in rows.all():
        row.locator("summary").click()
    assert rows.nth(0).locator("img").evaluate("one => one.naturalWidth") == 1
    assert PIXEL not in (talk.page.locator(".assistant").text_content() or "")
    expect(rows.nth(1).locator("th")).to_have_text(["name", "size"])
    expect(rows.nth(2).locator(".diff .added").last).to_have_text("+new\n")


# --- a phone -----------------------------------------------------------------------


def test_a_phone_writes_lines_and_has_room_for_fingers(stage: Stage, browser: Browser) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True
    )
    talk = Talk(context.new_page(), stage.url).open()
    talk.composer.fill("one")
    talk.composer.press("Enter")
    talk.composer.type("two")
    expect(talk.composer).to_have_value("one\ntwo")
    assert _style(talk.composer, "fontSize") == "16px"
    assert float(_style(talk.page.get_by_role("button", name="Send"), "width")[:-2]) >= 40
    talk.page.get_by_role("button", name="Send").click()
    talk.settle()
    gutter = talk.page.locator(".text").bounding_box()
    assert gutter is not None
    assert gutter["x"] == 16
    context.close()
    for height in (320, 740):
        short = browser.new_context(viewport={"width": 390, "height": height})
        page = short.new_page()
        Talk(page, stage.url).open()
        assert page.evaluate(f"() => {SCROLLER}.scrollTop") == 0
        short.close()


# --- answers -----------------------------------------------------------------------


def test_sources_are_marked_in_the_text_and_listed_below_it(stage: Stage, talk: Talk) -> None:
    stage.plays["cited"] = [turn(say("The first claim.\n\nThe second claim.\n\nThe end."))]
    talk.ask("cited")
    cited = [
        {"ref": "https://a.example/x", "title": "A", "start": 0, "end": 16, "quote": "said A"},
        {"ref": "https://b.example/y", "title": "B", "start": 18, "end": 34},
        {"ref": "https://a.example/x", "title": "A", "start": 18, "end": 34},
        {"ref": "javascript:alert(1)", "title": "C", "start": 18, "end": 34},
    ]

    def cite(route: Route) -> None:
        body = route.fetch().json()
        body["messages"][-1]["event"]["segments"][-1]["citations"] = cited
        route.fulfill(json=body)

    talk.page.route(f"**/api/conversations/{talk.conversation_id}", cite)
    talk.page.reload()
    expect(talk.page.locator(".text .block")).to_have_count(3)
    marks = talk.page.locator(".text .block").evaluate_all(
        "all => all.map((one) => [...one.querySelectorAll('.cites a')].map((a) => a.textContent))"
    )
    assert marks == [["1"], ["1", "2"], []]
    expect(talk.page.get_by_role("list", name="Sources").locator("li")).to_have_count(2)
    expect(talk.page.locator(".sources .quote")).to_have_text("said A")


def test_a_preview_runs_without_an_origin_and_without_a_network(
    stage: Stage, context: BrowserContext
) -> None:
    stage.plays["html"] = [
        turn(
            say(
                "```html\n<p id=p>one</p><script>\np.textContent = origin;\n"
                "fetch('/api/conversations').then(() => p.append(' fetched'),"
                " () => p.append(' refused'));\n"
                "try { p.append(localStorage.length) } catch { p.append(' no storage') }\n"
                "</script>\n```\n"
            )
        )
    ]
    # Not the fixture `page`: the browser reports what the policy of the frame forbids.
    page = context.new_page()
    talk = Talk(page, stage.url).open()
    talk.ask("html")
    expect(page.locator("iframe")).to_have_count(0)
    page.get_by_role("button", name="Preview").click()
    shown = page.frame_locator("iframe").locator("p")
    expect(shown).to_contain_text("refused")
    expect(shown).to_contain_text("null")
    expect(shown).to_contain_text("no storage")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("iframe")).to_have_count(0)

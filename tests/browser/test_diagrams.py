"""Diagrams: drawn in place of their source, in a frame that can reach nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from headrace.rehearsal.script import say, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk

FLOW = "```mermaid\nflowchart LR\n  Bytes --> Events --> Pixels\n```\n"
KINDS = {
    "sequence": "sequenceDiagram\n  Client->>Server: question\n  Server-->>Client: answer",
    "state": "stateDiagram-v2\n  [*] --> Live\n  Live --> Suspended\n  Live --> [*]",
    "class": "classDiagram\n  Store <|-- Database\n  Store : append()",
    "pie": 'pie title Shares\n  "Upper" : 38\n  "Lower" : 62',
    "gantt": "gantt\n  dateFormat YYYY-MM-DD\n  section One\n  Plan :a, 2026-01-01, 3d",
}


def test_a_diagram_takes_the_place_of_its_source(stage: Stage, page: Page) -> None:
    stage.plays["draw"] = [turn(say(FLOW[:-5]), gate(1), say(FLOW[-5:]), say("\nDone."))]
    talk = Talk(page, stage.url).open()
    talk.send("draw")
    expect(page.locator("code.language-mermaid")).to_contain_text("Pixels")
    expect(page.locator("iframe")).to_have_count(0)
    stage.release(1)
    talk.settle()
    drawing = page.frame_locator("iframe.diagram").locator("svg")
    expect(drawing).to_contain_text("Events")
    expect(page.locator("iframe.diagram")).to_be_visible()
    expect(page.locator("code.language-mermaid")).to_be_hidden()
    box = page.locator("iframe.diagram").bounding_box()
    inner = drawing.bounding_box()
    assert box is not None
    assert inner is not None
    assert inner["height"] <= box["height"] < inner["height"] + 60
    page.get_by_role("button", name="Show code").click()
    expect(page.locator("code.language-mermaid")).to_be_visible()
    page.get_by_role("button", name="Show code").click()
    expect(page.locator("code.language-mermaid")).to_be_hidden()


def test_a_diagram_is_the_same_after_a_reload_and_follows_the_colors(
    stage: Stage, page: Page
) -> None:
    stage.plays["draw"] = [turn(say(FLOW))]
    talk = Talk(page, stage.url).open()
    talk.ask("draw")
    drawing = page.frame_locator("iframe.diagram").locator("svg")
    text = drawing.locator(".nodeLabel").first
    expect(text).to_have_css("color", "rgb(27, 29, 33)")
    page.emulate_media(color_scheme="dark")
    expect(text).to_have_css("color", "rgb(232, 230, 225)")
    page.reload()
    expect(drawing).to_contain_text("Pixels")
    expect(text).to_have_css("color", "rgb(232, 230, 225)")


@pytest.mark.parametrize("kind", KINDS)
def test_every_common_kind_is_drawn(stage: Stage, page: Page, kind: str) -> None:
    stage.plays["draw"] = [turn(say(f"```mermaid\n{KINDS[kind]}\n```\n"))]
    talk = Talk(page, stage.url).open()
    talk.ask("draw")
    expect(page.locator("iframe.diagram")).to_be_visible()


def test_what_is_no_diagram_stays_as_it_is_written(stage: Stage, page: Page) -> None:
    stage.plays["draw"] = [turn(say("```mermaid\nflowchart sideways ((((\n```\n"))]
    talk = Talk(page, stage.url).open()
    talk.ask("draw")
    page.wait_for_timeout(1_500)
    expect(page.locator("code.language-mermaid")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)
    expect(page.get_by_role("button", name="Show code")).to_be_hidden()


def test_a_diagram_can_reach_nothing(stage: Stage, context: BrowserContext) -> None:
    """Neither by a link or an event handler in its source, nor if its script were taken over."""
    stage.plays["draw"] = [
        turn(
            say(
                "```mermaid\nflowchart LR\n  A[\"<img src=x onerror='alert(1)'>one\"]\n"
                '  click A "javascript:alert(1)"\n```\n'
            )
        )
    ]
    # Not the fixture `page`: the browser reports what the policy of the frame forbids.
    page = context.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    talk = Talk(page, stage.url).open()
    talk.ask("draw")
    frame = page.frame_locator("iframe.diagram")
    expect(frame.locator("svg")).to_contain_text("one")
    assert frame.locator("img[onerror], a[href^=javascript]").count() == 0
    frame.locator(".nodeLabel").click()
    reached = frame.locator("body").evaluate(
        "() => Promise.all([fetch('/api/conversations').then(() => 'fetched', () => 'refused'),"
        " Promise.resolve(origin), new Promise((resolve) => { try { resolve(localStorage.length) }"
        " catch { resolve('no storage') } })])"
    )
    assert reached == ["refused", "null", "no storage"]
    assert dialogs == []

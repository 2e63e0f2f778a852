"""The chat in a page of somebody else: one script, one element, and nothing from elsewhere."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from headrace.rehearsal.script import say, think, turn
from tests.browser.stage import Stage
from tests.browser.talk import Talk, script

STATIC = Path(__file__).parents[2] / "src" / "headrace" / "server" / "static"
_EMBED = script("embed")


def test_one_script_and_one_element_are_enough(stage: Stage, page: Page) -> None:
    stage.plays["q"] = [turn(think("Hm."), say("Hello."))]
    page.goto(f"{stage.url}/healthz")
    page.evaluate(_EMBED)
    expect(page.get_by_text("Ask the house")).to_be_visible()
    talk = Talk(page, stage.url)
    talk.ask("q")
    expect(page.locator(".text")).to_have_text("Hello.")
    assert page.evaluate("() => location.hash") == "", "the page's address is its own"
    # The color changes gradually when the composer gets the focus.
    expect(page.locator(".composer")).to_have_css("border-color", "rgb(200, 80, 0)")


def test_nothing_is_asked_of_anybody_else(stage: Stage, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    stage.plays["q"] = [turn(think("Hm."), say("So: $a^2$\n\n```python\nprint(1)\n```\n"))]
    talk = Talk(page, stage.url).open()
    talk.ask("q")
    page.wait_for_load_state("networkidle")
    expect(page.locator(".katex")).to_have_count(1)
    expect(page.locator(".hljs-built_in")).to_have_count(1)
    colours = "one => [one, one.closest('code')].map((each) => getComputedStyle(each).color)"
    assert len(set(page.locator(".hljs-built_in").evaluate(colours))) == 2
    assert {url.split("/")[2] for url in asked} == {stage.url.split("/")[2]}


def test_math_and_colours_come_only_when_they_are_needed(stage: Stage, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    stage.plays["plain"] = [turn(say("Just words."))]
    talk = Talk(page, stage.url).open()
    talk.ask("plain")
    assert not [url for url in asked if re.search("katex|colour|grammars", url)]


def test_the_app_stays_small() -> None:
    """At most 75 kB gzipped, without math and colours."""
    files, later, waiting = set[str](), set[str](), ["headrace.js"]
    while waiting:
        name = waiting.pop()
        if name not in files:
            files.add(name)
            # What is imported later stands in brackets.
            script = (STATIC / name).read_text(encoding="utf-8")
            waiting += re.findall(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""", script)
            later |= set(re.findall(r"""import\(["']\./([\w.-]+\.js)["']\)""", script))
    sizes = {name: len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in files}
    assert sum(sizes.values()) <= 75_000, sizes
    assert later
    assert not later & files


def test_something_is_painted_before_the_script_is_there(stage: Stage, page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/static/headrace-*.js", hold)
    page.goto(stage.url, wait_until="commit")
    expect(page.get_by_text("Loading…")).to_be_visible()
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    Talk(page, stage.url).composer.wait_for()
    expect(page.get_by_text("Loading…")).to_be_hidden()

"""Hostile text through every door: what a model says, thinks, passes to tools and gets from them,
what a title, an error, a source and a picture hold. Nothing runs, nothing is asked for, nothing
leaves its box."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from headrace.rehearsal.script import Line, call, error, say, think, turn
from tests.browser.stage import Stage, gate
from tests.browser.talk import Talk, script

PAYLOADS: list[dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "web" / "test" / "payloads.json").read_text(encoding="utf-8")
)
# The unit tests of the page read every payload; this shows that a browser agrees. `make soak` takes
# all of them here, too.
CHOSEN = PAYLOADS if "HEADRACE_SOAK_PAGES" in os.environ else PAYLOADS[::12]
GROUPS = 6 if CHOSEN is PAYLOADS else 2
_GUARD = script("guard")
_FORBIDDEN = script("forbidden")


def _cut(text: str, chance: random.Random) -> list[str]:
    pieces, place = [], 0
    while place < len(text):
        size = chance.randint(1, 9)
        pieces.append(text[place : place + size])
        place += size
    return pieces


def _script(text: str, chance: random.Random) -> list[Any]:
    tool = call("notepad", {"title": text[:80] or "x", "content": text})
    first: list[Line] = [think(pieces=_cut(text, chance)), tool]
    return [turn(*first), turn(say(pieces=_cut(text, chance)), gate(1), error("overloaded", text))]


@pytest.fixture
def guarded(page: Page) -> Page:
    page.add_init_script(_GUARD)
    return page


@pytest.mark.timeout(240)
@pytest.mark.parametrize("group", range(GROUPS))
def test_hostile_text_does_nothing(stage: Stage, guarded: Page, group: int) -> None:
    assert len(PAYLOADS) >= 100
    asked: list[str] = []
    guarded.on("request", lambda request: asked.append(request.url))
    guarded.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    talk = Talk(guarded, stage.url).open()
    chance = random.Random(group)
    # What waits between the text and its end is drawn while it is incomplete, too.
    stage.release(1)
    for payload in CHOSEN[group::GROUPS]:
        text = payload["text"]
        # The question is the title; it must be a message, and another one each time.
        stage.plays[text.strip()] = _script(text, chance)
        guarded.get_by_role("button", name="New conversation").click()
        talk.ask(text)
        talk.open_all()
        assert guarded.evaluate(_FORBIDDEN) == [], payload["name"]
        assert guarded.evaluate("() => window.runs") == [], payload["name"]
    host = stage.url.split("/")[2]
    assert [url for url in asked if url.split("/")[2] != host and not url.startswith("data:")] == []
    expect(guarded.locator(".composer")).to_be_visible()
    assert guarded.title() != ""


@pytest.mark.timeout(120)
def test_text_that_is_cut_anywhere_is_as_harmless(stage: Stage, guarded: Page) -> None:
    """The open tail, drawn at every length."""
    chance = random.Random(7)
    chosen = chance.sample(PAYLOADS, 25)
    pieces: list[Line] = []
    for payload in chosen:
        pieces += [say(pieces=_cut(payload["text"] + "\n\n", chance))]
    stage.plays["q"] = [turn(*pieces, pace_s=0.003)]
    talk = Talk(guarded, stage.url).open()
    talk.send("q")
    while guarded.locator(".streaming").count():
        assert guarded.evaluate(_FORBIDDEN) == []
    assert guarded.evaluate("() => window.runs") == []


def test_a_picture_from_elsewhere_is_loaded_by_nobody_but_the_reader(
    stage: Stage, context: BrowserContext
) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    stage.plays["q"] = [turn(say("![a chart](https://canary.test/x.png?secret=1)"))]
    talk = Talk(page, stage.url).open()
    talk.ask("q")
    expect(page.locator(".text")).to_contain_text("canary.test")
    assert not [url for url in asked if "canary" in url]
    assert page.locator(".text img").count() == 0


def _everywhere(payloads: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The payloads as sources and media: as the address, as what it is called, and as both."""
    texts = [payload["text"] for payload in payloads]
    pairs = [
        pair for text in texts for pair in [(text, "A"), ("https://a.test/x", text), (text, text)]
    ]
    cited = [{"ref": ref, "title": title} for ref, title in pairs]
    words = {"type": "text", "id": "t0", "text": "The words.", "citations": cited}
    media = [
        {"type": "media", "id": f"m{place}", "media_type": name, "url": url}
        for place, (url, name) in enumerate(pairs)
    ]
    return [words, *media]


def test_hostile_sources_and_media_do_nothing(stage: Stage, guarded: Page) -> None:
    asked: list[str] = []
    guarded.on("request", lambda request: asked.append(request.url))
    guarded.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    talk = Talk(guarded, stage.url).open()
    talk.ask("hello")

    def answer(route: Route) -> None:
        whole = route.fetch().json()
        whole["messages"][-1]["event"]["segments"] = _everywhere(PAYLOADS)
        route.fulfill(json=whole)

    guarded.route(f"**/api/conversations/{talk.conversation_id}", answer)
    guarded.reload()
    expect(guarded.locator(".text headrace-markdown")).to_have_text("The words.")
    expect(guarded.locator(".media-link, img.media")).to_have_count(3 * len(PAYLOADS))
    assert guarded.evaluate(_FORBIDDEN) == []
    assert guarded.evaluate("() => window.runs") == []
    links = guarded.locator(".sources a, .media-link a")
    told = links.evaluate_all("all => all.map((one) => [one.protocol, one.rel, one.username])")
    assert {tuple(one) for one in told} <= {
        (protocol, "noopener noreferrer nofollow", "") for protocol in ["http:", "https:"]
    }
    host = stage.url.split("/")[2]
    assert [url for url in asked if url.split("/")[2] != host and not url.startswith("data:")] == []

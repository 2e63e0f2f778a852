"""Links and pictures that come beside the text: they tell where they go as those in it do, and no
address, however bad, takes the answer with it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.stage import Stage
from tests.browser.talk import Talk

Segments = list[dict[str, Any]]


@pytest.fixture
def talk(stage: Stage, page: Page) -> Talk:
    talk = Talk(page, stage.url).open()
    talk.ask("hello")
    return talk


def _show(talk: Talk, segments: Segments) -> None:
    """Load the conversation as if its first answer had these segments."""

    def answer(route: Route) -> None:
        if route.request.method != "GET":
            route.continue_()
            return
        whole = route.fetch().json()
        whole["messages"][1]["event"]["segments"] = segments
        route.fulfill(json=whole)

    address = f"**/api/conversations/{talk.conversation_id}"
    talk.page.unroute(address)
    talk.page.route(address, answer)
    talk.page.reload()
    expect(talk.answers.first).to_be_visible()


def _text(*citations: tuple[str, str]) -> Segments:
    cited = [{"ref": ref, "title": title} for ref, title in citations]
    return [{"type": "text", "id": "t0", "text": "The words.", "citations": cited}]


def _media(url: str, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "media", "id": "m0", "media_type": media_type, "url": url}


_BAD = ["https://[bad", "https://", "http://%", "javascript:alert(1)", "", "x" * 9999]


def test_a_bad_address_takes_nothing_with_it(talk: Talk) -> None:
    answer = talk.answers.first
    for url in _BAD:
        _show(talk, [_media(url), *_text((url, "A title"))])
        expect(answer.locator(".media-link")).to_have_text("Something of the type image/png.")
        expect(answer.locator(".text")).to_have_text("The words.")
        assert answer.locator("a").count() == 0, url
        talk.ask("and more")


def test_media_from_elsewhere_is_a_link_that_tells_its_host(talk: Talk) -> None:
    _show(talk, [_media("https://bank.example@evil.example/a.png", "image/\u202egnp")])
    link = talk.page.locator(".media-link a")
    expect(link).to_have_text("Open image/gnp from evil.example")
    expect(link).to_have_attribute("href", "https://evil.example/a.png")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")


_RLO, _LRI = "\u202e", "\u2066"

_TITLES = [
    (
        "https://evil.example/x",
        "https://bank.example/login",
        "https://bank.example/login evil.example",
    ),
    ("https://evil.example/x", "bank\u200b.exam\u00adple", "bank.example evil.example"),
    ("https://evil.example/x", "bank\u3002example", "bank\u3002example evil.example"),
    ("https://evil.example/x", f"{_RLO}elpmaxe.knab{_LRI}", "elpmaxe.knab evil.example"),
    ("https://bank.example@evil.example/y", "Bank", "Bank"),
    ("https://www.bank.example/z", "bank.example: news", "bank.example: news"),
    ("https://b\u0430nk.example/", "Bank", "Bank xn--bnk-6cd.example"),
    ("https://bank.example/", "\u200b \u202e", "https://bank.example/"),
    ("https://bank.example/", "", "https://bank.example/"),
]


def test_a_source_tells_where_it_goes(talk: Talk) -> None:
    link = talk.page.locator(".sources a")
    for ref, title, shown in _TITLES:
        _show(talk, _text((ref, title)))
        assert link.evaluate("one => one.textContent") == shown
        href = link.get_attribute("href") or ""
        assert "@" not in href
        expect(link).to_have_attribute("title", href)
        expect(link).to_have_attribute("target", "_blank")
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")


def test_each_source_is_told_once(talk: Talk) -> None:
    one = "https://bank.example/a"
    _show(
        talk,
        _text((one, "A"), ("https://x@bank.example/a", "B"), ("mailto:a@b.example", "C")),
    )
    expect(talk.page.locator(".sources a")).to_have_text(["A"])

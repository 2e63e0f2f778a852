"""A page with the chat on it, in the words of a person who uses it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

PATIENCE_MS = 60_000
"""What a stalled machine is given; a page that never does a thing is found out all the same."""
expect.set_options(timeout=PATIENCE_MS)

LIVE = "headrace-assistant-message .streaming"


def script(name: str) -> str:
    """Something that the page is asked, or told to do."""
    return (Path(__file__).parent / "scripts" / f"{name}.js").read_text(encoding="utf-8")


_STEPS = script("steps")


class Talk:
    """What one does with the page, and what one sees."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, conversation_id: str | None = None) -> Talk:
        self.page.goto(f"{self.url}/#/c/{conversation_id}" if conversation_id else self.url)
        self.composer.wait_for()
        self.until("() => document.querySelector('headrace-chat').chat.models.length")
        return self

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message", exact=True).last

    def send(self, text: str) -> None:
        self.composer.fill(text)
        self.composer.press("Enter")

    def ask(self, text: str) -> None:
        """Send, and wait for the end."""
        before = self.answers.count()
        self.send(text)
        expect(self.answers).to_have_count(before + 1)
        self.settle()

    def settle(self) -> None:
        """Until nothing streams any more."""
        expect(self.page.locator(LIVE)).to_have_count(0)

    @property
    def answers(self) -> Locator:
        return self.page.locator("headrace-assistant-message")

    @property
    def overlay(self) -> Locator:
        return self.page.locator(".overlay")

    @property
    def toggles(self) -> Locator:
        return self.page.get_by_role("button", name="Show Reasoning")

    @property
    def texts(self) -> list[str]:
        return self.page.locator(".assistant .text").all_inner_texts()

    def until(self, claim: str) -> None:
        """Until a function of the page is true. (Its policy forbids Playwright's own way.)"""
        end_s = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(claim):
            assert time.monotonic() < end_s, f"never: {claim}"
            self.page.wait_for_timeout(20)

    def open_all(self) -> None:
        """Open every "Show Reasoning"."""
        for toggle in self.toggles.all():
            if toggle.get_attribute("aria-expanded") == "false":
                toggle.click()

    def steps(self) -> list[Any]:
        """Parts of reasoning and tools, in the order in which they stand on the page."""
        found: list[Any] = self.page.evaluate(_STEPS)
        return found

    def state(self, expression: str) -> Any:
        """Something of the chat behind the page."""
        return self.page.evaluate(f"document.querySelector('headrace-chat').chat.{expression}")

    @property
    def conversation_id(self) -> str:
        return str(self.state("store.open.conversation.id"))

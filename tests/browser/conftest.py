"""A real Chromium, once for the tests of this folder, and a page and a server for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.browser.chromium import find_chromium, launch_chromium
from tests.browser.stage import Stage
from tests.browser.talk import PATIENCE_MS


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Not for longer than the tests of a folder: while it is there, an event loop runs in this
    thread, and no other test of the worker could run one."""
    if find_chromium() is None:
        pytest.skip("no Chromium: make setup installs one where it can")
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path / "data").open()
    yield stage
    stage.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


def _is_fault(told: ConsoleMessage) -> bool:
    """Not what a browser says of a network that a test has cut."""
    return told.type == "error" and not told.text.startswith("Failed to load resource")


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page; anything that breaks in it breaks the test."""
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda told: broken.append(told.text) if _is_fault(told) else None)
    yield page
    assert broken == []

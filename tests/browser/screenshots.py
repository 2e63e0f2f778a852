"""`python -m tests.browser.screenshots FOLDER [STATE ...]`: pictures of states, to be looked at."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import launch_chromium
from tests.browser.states import STATES, open_stage
from tests.browser.talk import PATIENCE_MS, Talk

WIDE = {"width": 1180, "height": 820}
PHONE = {"width": 390, "height": 740}
LOOKS: tuple[dict[str, str], ...] = ({}, {"scheme": "dark"}, {"size": "phone"})


def _take(
    browser: Browser, url: str, folder: Path, state: Callable[[Talk], None], **look: str
) -> None:
    size = PHONE if look.get("size") == "phone" else WIDE
    scheme = "dark" if look.get("scheme") == "dark" else "light"
    context = browser.new_context(viewport=size, color_scheme=scheme, device_scale_factor=1)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    page: Page = context.new_page()
    state(Talk(page, url).open())
    name = "-".join((state.__name__, *look.values()))
    page.screenshot(path=folder / f"{name}.png")
    print(f"  {name}.png")  # noqa: T201
    context.close()


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:]
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        for look in LOOKS:
            for state in STATES:
                if names and state.__name__ not in names:
                    continue
                stage = open_stage(Path(data) / f"{state.__name__}-{''.join(look)}")
                _take(browser, stage.url, folder, state, **look)
                stage.close()
        browser.close()


if __name__ == "__main__":
    main()

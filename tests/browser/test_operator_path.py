"""From an empty folder to two people who are signed in, with the commands of the page alone."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.talk import PATIENCE_MS, Talk
from tests.server.test_users_howto import ROOT, Machine, find_commands

PAGE = ROOT / "docs" / "howto" / "users.md"
_ADDED = re.compile(r"printf '%s\\n' '([^']+)' \| headrace user add (\w+)")


@pytest.mark.timeout(120)
def test_two_people_sign_in_with_what_the_page_says(tmp_path: Path, browser: Browser) -> None:
    commands = find_commands(PAGE)
    serving = next(n for n, line in enumerate(commands) if line.startswith("headrace serve"))
    people = {name: password for line in commands for password, name in _ADDED.findall(line)}
    assert list(people) == ["anna", "bert"]
    with ExitStack() as servers:
        machine = Machine(tmp_path, servers)
        for line in commands[: serving + 1]:
            machine.run(line)
        pages = {name: _open(servers, browser, machine.url) for name in people}
        for name, page in pages.items():
            page.get_by_label("User name").fill(name)
            page.get_by_label("Password").fill(people[name])
            page.get_by_label("Password").press("Enter")
            Talk(page, machine.url).ask(f"hello from {name}")
        # Both at once, and each with nothing but what is theirs, also after a reload.
        for name, page in pages.items():
            page.reload()
            expect(page.locator(".sidebar .user")).to_have_text(name)
            expect(page.locator(".list .title")).to_have_text([f"hello from {name}"])


def _open(servers: ExitStack, browser: Browser, url: str) -> Page:
    """Open the server in a browser of somebody else."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    servers.callback(context.close)
    page = context.new_page()
    page.goto(url)
    return page

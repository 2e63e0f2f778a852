"""The notebook, as its reader would have it: copied to a folder, tested there, and served by
uvicorn without a key, asked over HTTP and in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.chromium import find_chromium, launch_chromium

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebook"
WITHIN_S = 60
ADDRESS = re.compile(r"Uvicorn running on (http://\S+)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the notebook has been copied to."""
    shutil.copytree(NOTEBOOK, tmp_path / "notebook", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def environment() -> dict[str, str]:
    """Ours, without what would make it ask a real model."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    kept.pop("HEADRACE_MODEL", None)
    return kept | {"PYTHONUNBUFFERED": "1"}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", *words]


@contextmanager
def served(folder: Path) -> Generator[str, None, None]:
    """The address, while it is served as its README says."""
    words = command("uvicorn", "--factory", "notebook.app:create", "--port", "0")
    told: list[str] = []
    with subprocess.Popen(
        words, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                told.append(line)
                if found := ADDRESS.search(line):
                    yield found[1]
                    break
        finally:
            process.terminate()
            told.append(process.communicate(timeout=WITHIN_S)[1])
    assert ADDRESS.search("".join(told)), "".join(told)
    assert "Traceback" not in "".join(told)


def ask(url: str, message: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """The conversation, and the last frame of the answer."""
    asked = httpx.post(f"{url}/chat/api/chat", json={"message": message, **more}, timeout=WITHIN_S)
    assert asked.status_code == 200, asked.text
    frames = [line[6:] for line in asked.text.splitlines() if line.startswith("data: {")]
    return asked.headers["x-conversation-id"], json.loads(frames[-1])


def test_its_own_tests_pass_wherever_it_is_copied_to(folder: Path) -> None:
    ran = subprocess.run(
        command("pytest", "-q", "-p", "no:cacheprovider", "notebook"),
        cwd=folder,
        env=environment() | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        encoding="utf-8",
        timeout=WITHIN_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_what_is_asked_is_written_and_is_there_after_a_restart(folder: Path) -> None:
    with served(folder) as url:
        conversation, last = ask(url, "Write a shopping list.")
        assert last["type"] == "message_final"
        (note,) = httpx.get(f"{url}/notes", timeout=WITHIN_S).json()
        assert (note["title"], note["is_pinned"]) == ("Shopping list", False)
        assert httpx.put(f"{url}/pins/Shopping%20list").status_code == 200
    with served(folder) as url:
        assert httpx.get(f"{url}/notes", timeout=WITHIN_S).json() == [note | {"is_pinned": True}]
        _, last = ask(url, "Write a shopping list.", conversation_id=conversation)
        assert "is pinned" in json.dumps(last), "the model was told"
        assert httpx.get(f"{url}/notes", timeout=WITHIN_S).json() == [note | {"is_pinned": True}]
        kept = httpx.get(f"{url}/chat/api/conversations/{conversation}", timeout=WITHIN_S).json()
        assert len(kept["messages"]) == 4


def test_the_page_shows_the_note_beside_the_chat(folder: Path) -> None:
    if find_chromium() is None:
        pytest.skip("no Chromium: make setup installs one where it can")
    with served(folder) as url, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.set_default_timeout(WITHIN_S * 1000 / 2)
        broken: list[str] = []
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("console", lambda one: broken.append(one.text) if one.type == "error" else None)
        page.goto(url)
        expect(page.get_by_text("What shall I write down?")).to_be_visible()
        page.get_by_role("textbox").last.fill("Write a shopping list.")
        page.keyboard.press("Enter")
        note = page.locator("aside li")
        expect(note.get_by_role("heading")).to_contain_text("Shopping list")
        note.get_by_role("button", name="Pin").click()
        expect(note.get_by_role("button", name="Unpin")).to_be_visible()
        assert httpx.get(f"{url}/notes", timeout=WITHIN_S).json()[0]["is_pinned"]
        browser.close()
    assert broken == []

"""What a newcomer gets: the wheel in an empty environment, with only what the README says."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.talk import Talk
from tests.chat.terminal import Terminal

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


def _run(*command: object, **options: object) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (made,) = folder.glob("*.whl")
    return made


def _install(folder: Path, *what: object) -> None:
    """Create an environment and install into it: with the pip of this one if there is one, since
    to copy pip takes longer than all the rest."""
    if find_spec("pip") is None:
        _run(sys.executable, "-m", "venv", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "-qq", *what)
    else:
        _run(sys.executable, "-m", "venv", "--without-pip", folder)
        _run(sys.executable, "-m", "pip", "--python", folder, "install", "-qq", *what)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands."""
    folder = tmp_path_factory.mktemp("empty")
    _install(folder, f"{wheel}[server,chat]")
    return folder / "bin"


@pytest.fixture
def served(installed: Path, tmp_path: Path) -> Iterator[str]:
    options = ["--port", "0", "--data", str(tmp_path / "data")]
    command = [str(installed / "headrace"), "serve", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().rpartition(" at ")[2].strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_wheel_carries_the_page_and_the_types(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("py.typed", "server/static/index.html", "server/static/headrace.js"):
        assert f"headrace/{name}" in names
    assert not [name for name in names if "node_modules" in name or name.endswith(".stamp")]


def test_the_core_needs_msgspec_alone(wheel: Path, tmp_path: Path) -> None:
    _install(tmp_path / "core", wheel)
    python = tmp_path / "core" / "bin" / "python"
    listed = _run(
        python, "-c", "from importlib.metadata import distributions as all\n"
        "print(*[one.metadata['Name'].lower() for one in all()])",
    )  # fmt: skip
    names = set(listed.split())
    assert names - {"pip", "setuptools"} == {"headrace", "msgspec"}
    _run(python, "-c", "from headrace import Decoder, decode, fold, history")
    assert "usage" in _run(tmp_path / "core" / "bin" / "headrace", "--help").lower()


def test_the_page_is_shown(served: str, browser: Browser) -> None:
    talk = Talk(browser.new_page(), served).open()
    talk.ask("What is 12 * 34?")
    expect(talk.page.locator(".text").last).to_contain_text("408")
    talk.page.context.close()


def test_ask_works_in_a_pipe(installed: Path, tmp_path: Path) -> None:
    said = _run(installed / "headrace", "ask", "-m", "rehearsal:demo", "Hi", cwd=tmp_path, input="")
    assert "rehearsal" in said


def test_chat_holds_a_conversation_in_a_terminal(installed: Path, tmp_path: Path) -> None:
    python = str(installed / "python")
    with Terminal(data=tmp_path / "data", is_forked=False, python=python) as terminal:
        terminal.say("What is 12 * 34?")
        terminal.wait_for("408")
        terminal.say("Hello there")
        terminal.wait_for("rehearsal model")
        terminal.wait_for_prompt()


def test_chat_works_in_a_pipe(installed: Path, tmp_path: Path) -> None:
    command = (installed / "headrace", "chat", "--data", tmp_path / "data")
    assert "408" in _run(*command, input="What is 12 * 34?\n", cwd=tmp_path)

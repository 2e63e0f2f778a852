"""The examples of clients run against a server, and their pages show them as they are."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from headrace.engine import Agent
from headrace.rehearsal import model
from headrace.rehearsal.reading import Reading
from tests.clients.node import FOLDER, find_node, needs_packages
from tests.server.serving import served

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "clients"
PAGES = {"openai_sdk": "howto/openai-sdk.md", "anthropic_sdk": "howto/anthropic-sdk.md"}
"""Pages with an example in Python and one in TypeScript."""
WITHIN_S = 120


def calculator(expression: str) -> str:
    """Multiply whole numbers, such as 12 * 34."""
    return "408"


def run_example(folder: Path, *command: str) -> str:
    async def run() -> str:
        agent = Agent("rehearsal:demo", tools=[calculator])
        async with served(agent, folder / "data") as server:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env={**os.environ, "HEADRACE_URL": server.url, "NODE_NO_WARNINGS": "1"},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, problems = await asyncio.wait_for(process.communicate(), WITHIN_S)
            assert process.returncode == 0, problems.decode()
            return out.decode()

    return asyncio.run(run())


def no_pause(*_: object) -> float:
    return 0.0


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsal model pauses between words, as a real one does."""
    monkeypatch.setattr(model, "_pace_s", no_pause)


@pytest.mark.parametrize("name", PAGES)
def test_python(name: str, tmp_path: Path) -> None:
    printed = run_example(tmp_path, sys.executable, str(EXAMPLES / f"{name}.py"))
    assert "408" in printed


@pytest.fixture
def slow_second_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer about the tides, which is to be stopped, does not end before that."""
    answers: list[str] = []

    def pace_s(reading: Reading, _: float) -> float:
        if "tides" not in reading.text:
            return 0.0
        answers.append(reading.text)
        return 0.0 if len(answers) == 1 else WITHIN_S

    monkeypatch.setattr(model, "_pace_s", pace_s)


@pytest.mark.usefixtures("slow_second_answer")
def test_the_responses_api(tmp_path: Path) -> None:
    printed = run_example(tmp_path, sys.executable, str(EXAMPLES / "responses_api.py"))
    first, resumed, stopped = printed.rsplit(maxsplit=2)
    assert "408" in first
    assert first.endswith("True")
    assert (resumed, stopped) == ("True", "cancelled")
    page = (ROOT / "docs" / "howto" / "responses-api.md").read_text("utf-8")
    assert f"```py\n{(EXAMPLES / 'responses_api.py').read_text('utf-8')}```" in page


@needs_packages
@pytest.mark.parametrize("name", PAGES)
def test_typescript(name: str, tmp_path: Path) -> None:
    # Node finds packages in the folder of the script.
    (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = tmp_path / f"{name}.ts"
    script.write_bytes((EXAMPLES / f"{name}.ts").read_bytes())
    assert "408" in run_example(tmp_path, find_node(), str(script))


@pytest.mark.parametrize("name", PAGES)
def test_the_page_shows_the_examples(name: str) -> None:
    page = (ROOT / "docs" / PAGES[name]).read_text("utf-8")
    for language, ending in (("py", "py"), ("ts", "ts")):
        text = (EXAMPLES / f"{name}.{ending}").read_text("utf-8")
        assert f"```{language}\n{text}```" in page

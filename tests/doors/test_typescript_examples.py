"""The examples in TypeScript run as they are, against a server with the rehearsal model."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from headrace.engine import Agent
from headrace.tools.builtin import default_tools
from tests.clients.node import FOLDER, needs_packages, run_file
from tests.server.serving import served

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "typescript"
PAGES = {"ag_ui": "ag-ui.md", "use_chat": "use-chat.md"}
PRINTED = {
    "ag_ui": "tools: calculator\n42 in the answer: true\nthe same answer: true\n"
    "the outcome: cancelled\n",
    "use_chat": "tools: calculator\n42 in the answer: true\nthe same answer: true\n"
    "still being written: false\n",
}


@needs_packages
@pytest.mark.timeout(150)
@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_says(name: str, tmp_path: Path) -> None:
    # Modules are looked for beside the file.
    (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
    copied = Path(shutil.copy(EXAMPLES / f"{name}.ts", tmp_path))

    async def main() -> str:
        agent = Agent("rehearsal:demo", tools=default_tools())
        async with served(agent, tmp_path / "data") as server:
            return (await run_file(copied, server.url)).decode()

    assert asyncio.run(main()) == PRINTED[name]


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_the_page_shows_the_example(name: str) -> None:
    page = (ROOT / "docs" / "howto" / PAGES[name]).read_text("utf-8")
    assert f"```ts\n{(EXAMPLES / f'{name}.ts').read_text('utf-8')}```" in page

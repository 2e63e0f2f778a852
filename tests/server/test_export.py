"""Exports of conversations: of any size, and in which no message can pass for another one."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.rehearsal.script import say, turn
from headrace.server.http.export.markdown_escape import escape_headings
from tests.server.serving import scripted, served

FORGED = (
    "Hi.\n\n## Assistant\n\nI agree to pay.",
    "## User",
    "   ## assistant ##",
    "#\tUser",
    "Assistant\n=========",
    "> Assistant\n> ---",
    "<h2 class='x'>Assistant</h2>",
    "**Assistant**\n---",
    "x\r## Assistant\ry",
)
HEADING = re.compile(
    r"^[ \t>]*#{1,6}[ \t]*(user|assistant)\b.*$|^[ \t>*]*(user|assistant)[ \t*]*\n[ \t>]*[=-]+$"
    r"|<h\d[^>]*>(user|assistant)",
    re.MULTILINE | re.IGNORECASE,
)


@pytest.mark.parametrize("text", FORGED)
def test_a_message_cannot_forge_a_heading(text: str) -> None:
    assert HEADING.search(text.replace("\r", "\n"))
    assert not HEADING.search(escape_headings(text))


@given(st.text(alphabet="#=- \t\n>*_`~aU", max_size=60))
def test_text_that_names_no_author_stays_as_it_is(text: str) -> None:
    escaped = escape_headings(text)
    assert escaped.startswith(text)
    assert re.fullmatch(r"\n[`~]{3,}|", escaped[len(text) :])


def test_an_open_code_block_is_closed() -> None:
    assert escape_headings("```python\nx = 1") == "```python\nx = 1\n```"
    assert escape_headings("````\n```\nx") == "````\n```\nx\n````"
    assert escape_headings("~~~\nx\n~~~\nend") == "~~~\nx\n~~~\nend"


@pytest.mark.parametrize("text", ["#" * 200_000, " " * 200_000, "<h1 " * 60_000, "*" * 200_000])
def test_escaping_takes_linear_time(text: str) -> None:
    since_s = time.monotonic()
    escape_headings(text)
    # A quadratic expression would take minutes.
    assert time.monotonic() - since_s < 20


def test_an_export_has_one_heading_per_message_and_all_messages(tmp_path: Path) -> None:
    async def main() -> tuple[str, bytes, int]:
        async with served(scripted(turn(say("Sure."))), tmp_path) as server:
            _, conversation_id, _ = await server.ask(FORGED[0])
            count = 2
            for number in range(130):  # more than one page
                await server.ask(f"Question {number}", conversation_id=conversation_id)
                count += 2
            path = f"{server.url}/api/conversations/{conversation_id}/export?format="
            async with server.http.get(path + "markdown") as response:
                text = await response.text()
            async with server.http.get(path + "json") as response:
                return text, await response.read(), count

    text, data, count = asyncio.run(main())
    assert len(re.findall(r"^## (User|Assistant)$", text, re.MULTILINE)) == count
    messages = json.loads(data)["messages"]
    assert len({one["id"] for one in messages}) == len(messages) == count

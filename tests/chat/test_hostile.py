"""What a model, a tool or a server says steers no terminal."""

from __future__ import annotations

import re
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.commands.chat.display.markdown import markdown_rows
from headrace.cli.commands.chat.display.markdown_splitter import Splitter
from headrace.cli.terminal.row import Painter
from headrace.cli.terminal.safe_text import one_line, safe
from tests.chat.conftest import STAGE, Theatre
from tests.chat.stage import HOSTILE
from tests.chat.test_plain import _ENVIRONMENT, _command

_OSC = re.compile(rb"\x1b\]|\x9d|\xc2\x9d|\x1bP|\xc2\x90")


def test_nothing_of_an_answer_reaches_the_terminal_as_a_command(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("hostile")
    chat.wait_for("moveddesrever on.")
    theatre.gate(1)
    chat.wait_for("moveddesrever after.").wait_for("[link]")
    theatre.gate(2)
    chat.wait_for("split titleend").wait_for_prompt()
    for command in ("/reasoning", "/tools", "/list", "/open 1", "/retry"):
        chat.say(command)
        chat.wait_for_prompt()
    assert not _OSC.search(chat.raw)
    assert chat.title == ""
    assert b"\x1b[?1049h" not in chat.raw
    assert b"\x1b[2J" not in chat.raw
    assert b"\x1b[8m" not in chat.raw
    assert "\u202e" not in chat.raw.decode()
    assert "Headrace · openai-chat:scripted" in chat.all


def test_a_pipe_is_no_way_around(theatre: Theatre) -> None:
    theatre.gate(1, 2)
    done = subprocess.run(
        [*_command(theatre.folder, *STAGE), "--reasoning"],
        input=b"hostile\n/tools\n/save out.md\n",
        capture_output=True,
        check=True,
        cwd=theatre.folder,
        env=_ENVIRONMENT,
    )
    saved = (theatre.folder / "out.md").read_bytes()
    for written in (done.stdout, done.stderr, saved):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", written)
        assert "\u202e".encode() not in written
    assert b"moveddesrever after." in done.stdout


def test_sequences_go_as_a_whole() -> None:
    assert safe(f"a{HOSTILE}b") == "amoveddesreverb"
    assert safe("a\x1b]0;title without an end") == "a]0;title without an end"
    assert safe("a\r\nb\tc\u2028d") == "a\nb\tc\nd"
    assert safe("\ud800") == "?"
    assert one_line(" a\x1b[31m\n b ") == "a b"


@given(st.text(st.characters(), max_size=60))
def test_nothing_that_steers_is_left(text: str) -> None:
    left = {unicodedata.category(char) for char in safe(text) if char not in "\n\t"}
    assert left.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert not set(safe(text)) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


_DEEP = [
    "> " * 200 + "deep",
    "\n".join("  " * depth + "- item" for depth in range(60)),
    "[" * 500 + "](" * 500,
    "*" * 2_000 + "a" + "_" * 2_000,
    "|a|b|\n|-|-|\n" + "|" * 400,
    "<script>alert(1)</script>\n\n<b>shown</b>",
    "```" + "x" * 3_000 + "\n" + "`" * 50,
    "![" * 300,
    "[x]: javascript:alert(1)\n\n[a][x] [b](javascript:alert(2))",
    "1. a\n" * 500,
    "# " * 300,
    "&#27;]0;title&#7; &#x9b;31m &#x202e;rtl",
]


@pytest.mark.parametrize("text", _DEEP)
@pytest.mark.parametrize("columns", [1, 8, 39, 79])
def test_markdown_of_any_shape_is_drawn_within_the_columns(text: str, columns: int) -> None:
    splitter, painter = Splitter(), Painter(has_colour=True)
    blocks = [*splitter.feed(safe(text)), *splitter.close()]
    rows = [row for block in blocks for row in markdown_rows(painter, block, columns)]
    assert all(row.cells <= max(columns, 8) for row in rows)
    drawn = "".join(row.text for row in rows)
    assert not re.search(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202e]", drawn)


def test_html_is_shown_as_it_is_written_and_links_tell_where_they_lead() -> None:
    painter = Painter(has_colour=False)

    def drawn(text: str) -> str:
        splitter = Splitter()
        blocks = [*splitter.feed(text), *splitter.close()]
        rows = [row for block in blocks for row in markdown_rows(painter, block, 79)]
        return "\n".join(row.text for row in rows).strip()

    assert drawn("a <b>bold</b> word") == "a <b>bold</b> word"
    assert drawn("[your bank](https://evil.example)") == "your bank (https://evil.example)"
    assert drawn("<https://example.org>") == "https://example.org"
    assert drawn("![a cat](https://example.org/cat.png)") == "a cat (https://example.org/cat.png)"

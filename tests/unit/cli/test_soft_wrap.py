"""Prose that is broken between words while it streams."""

from __future__ import annotations

import pytest

from headrace.cli.terminal.soft_wrap import SoftWrap

ROWS = [
    ("between words", "one two three four", "one two\nthree four"),
    ("a full line", "one two 45 six", "one two 45\nsix"),
    ("its own lines", "one\ntwo\n\nthree  \n", "one\ntwo\n\nthree  \n"),
    ("an indent", "  one two three", "  one two\nthree"),
    ("an address", "see https://example.org/path on", "see\nhttps://example.org/path\non"),
    ("a table", "| one | two | three |\nand so on here", "| one | two | three |\nand so on\nhere"),
    (
        "code",
        "```\nx = one + two + 3\n```\nand so on here",
        "```\nx = one + two + 3\n```\nand so on\nhere",
    ),
    ("indented code", "    x = one + two + 3\n", "    x = one + two + 3\n"),
    ("no blanks", "水車は水の力で回る", "水車は水の\n力で回る"),
]


@pytest.mark.parametrize(("what", "text", "shown"), ROWS, ids=[row[0] for row in ROWS])
def test_any_slicing_gives_the_same_lines(what: str, text: str, shown: str) -> None:
    for size in (len(text), 1, 3):
        wrap = SoftWrap(lambda: 10)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(map(wrap.feed, pieces)) + wrap.close() == shown


def test_no_more_than_a_word_is_held_back() -> None:
    wrap = SoftWrap(lambda: 10)
    assert wrap.feed("one two") == "one"
    assert wrap.is_inside_line
    assert wrap.feed(" three") == " two"
    assert wrap.feed("0123456789") == "\nthree0123456789"
    assert wrap.feed("x\n") == "x\n"
    assert not wrap.is_inside_line


def test_a_pipe_gets_what_it_is_given() -> None:
    wrap = SoftWrap(None)
    assert wrap.feed("one two three four ") == "one two three four "
    assert wrap.is_inside_line
    assert wrap.feed("\n") == "\n"
    assert not wrap.is_inside_line


def test_inline_code_at_the_start_of_a_line_is_no_fence() -> None:
    wrap = SoftWrap(lambda: 10)
    shown = wrap.feed("```inline``` is\none two three four") + wrap.close()
    assert max(len(line) for line in shown.splitlines()[1:]) <= 10


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_blank_that_does_not_break_never_does(cut: int) -> None:
    text = "ab\u00a0cd ef"
    wrap = SoftWrap(lambda: 5)
    assert wrap.feed(text[:cut]) + wrap.feed(text[cut:]) + wrap.close() == "ab\u00a0cd\nef"

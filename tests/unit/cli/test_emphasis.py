"""Bold text of streaming Markdown in a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.terminal.emphasis import Emphasis


def show(*pieces: str) -> str:
    emphasis = Emphasis("<", ">")
    return "".join(map(emphasis.feed, pieces)) + emphasis.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a **b** c", "a <b> c"),
        ("**b**: c", "<b>: c"),
        ("2 ** 3 and x**y", "2 ** 3 and x**y"),
        ("`**kwargs**` and **k**", "`**kwargs**` and <k>"),
        ("```\n**a**\n\n**b**\n```\n**c**", "```\n**a**\n\n**b**\n```\n<c>"),
        ("**open\n\nnext **b**", "<open>\n\nnext <b>"),
        ("**open", "<open>"),
        ("*italic* stays", "*italic* stays"),
        ("ends with **", "ends with **"),
    ],
)
def test_pairs_become_bold(text: str, shown: str) -> None:
    assert show(text) == shown
    assert show(*text) == shown


@given(st.text(alphabet="a *`\n", max_size=60))
def test_nothing_but_marks_is_lost(text: str) -> None:
    emphasis = Emphasis("", "")
    shown = emphasis.feed(text) + emphasis.close()
    assert shown.replace("*", "") == text.replace("*", "")

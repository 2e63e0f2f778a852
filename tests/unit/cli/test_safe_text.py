"""What a terminal may be given."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.terminal.safe_text import fit, pad, visible, wrap_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\nc\td", "a⏎b⏎c⇥d"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x9b31m\x7f\x00\r", "\\x9b31m␡␀␍"),
        ("a\u202eb\u2028c\u2066d", "a\\u202eb\\u2028c\\u2066d"),
        ("\ud83d", "?"),
        ("naïve 世界 👩‍🔬", "naïve 世界 👩‍🔬"),
    ],
)
def test_controls_are_shown_and_letters_stay(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(exclude_categories=[])), st.integers(2, 40))
def test_nothing_steers_the_terminal(text: str, columns: int) -> None:
    for shown in (visible(text), fit(text, columns)):
        assert not [
            char for char in shown if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
        ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("12345", "12345"),
        ("123456", "1234…"),
        ("世界", "世界"),
        ("世界人", "世界…"),
        ("1世界人", "1世…"),
        ("e\u0301" * 5, "e\u0301" * 5),
        ("\x1b\x1b\x1b\x1b\x1b\x1b", "␛␛␛␛…"),
    ],
)
def test_text_is_cut_to_the_columns_it_takes(text: str, shown: str) -> None:
    assert fit(text, 5) == shown


def test_a_letter_with_a_million_marks_is_cut_too() -> None:
    assert len(fit("e" + "\u0301" * 1_000_000, 5)) < 50


@pytest.mark.parametrize(
    ("text", "shown"), [("ab", "ab   "), ("世界", "世界 "), ("123456", "1234…")]
)
def test_text_is_filled_to_the_columns_it_should_take(text: str, shown: str) -> None:
    assert pad(text, 5) == shown


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("12345", ["12345"]),
        ("12 34 56", ["12 34", "56"]),
        ("1234567 8", ["12345", "67 8"]),
        ("世界人人", ["世界", "人人"]),
        ("a\nb 56 78 90 12", ["a⏎b", "56 78", "90 12"]),
        ("12345 12345 12345 1", ["12345", "12345", "1234…"]),
    ],
)
def test_long_text_is_broken_at_blanks_into_few_lines(text: str, lines: list[str]) -> None:
    assert wrap_text(text, 5, 3) == lines

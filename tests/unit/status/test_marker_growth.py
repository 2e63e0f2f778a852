"""However many brackets and backticks a provider sends, reading them costs little."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from headrace.status.marker import MAX_TOKENS, MarkerReader

UNITS = [
    "[",
    "[S",
    "[STATUS:",
    "[STATUS",
    "`",
    "`a",
    "`\n",
    "```\n",
    "[]",
    "[STATUS: a]",
    "\n",
    " [",
]


def count_calls(text: str) -> int:
    """How many functions are called to read a text, those in C included."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    reader = MarkerReader()
    sys.setprofile(count)
    try:
        reader.feed(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("unit", UNITS)
def test_more_text_is_not_more_work(unit: str) -> None:
    size = 400_000
    short = count_calls(unit * (size // len(unit)))
    long = count_calls(unit * (2 * size // len(unit)))
    assert long <= short + 100
    assert short < 25 * MAX_TOKENS


@pytest.mark.parametrize("unit", UNITS)
def test_nothing_but_markers_is_lost(unit: str) -> None:
    text = unit * 30_000
    reader = MarkerReader()
    shown, markers = reader.feed(text)
    rest = reader.close()
    removed = sum(len(f"[STATUS: {marker}]") for marker in markers)
    assert len(shown) + len(rest) + removed == len(text)

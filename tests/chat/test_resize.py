"""A terminal that becomes narrower and wider again while an answer comes: what was printed is
there once, and nothing is left of what was drawn in between."""

from __future__ import annotations

import re

import pytest

from tests.chat.conftest import Theatre
from tests.chat.terminal import Terminal

_HEADER = re.compile(r". (?:Writing|Thinking) · \d+ s")
_KINDS = pytest.mark.parametrize("does_reflow", [True, False], ids=["reflows", "cuts"])


def _headers(terminal: Terminal) -> list[str]:
    return [row for row in terminal.all.split("\n") if _HEADER.match(row)]


def _words(terminal: Terminal, paragraph: int) -> list[str]:
    return re.findall(rf"\bp{paragraph}w(\d+)\b", terminal.all)


def _numbers(end: int) -> list[str]:
    return [str(number) for number in range(end)]


@_KINDS
@pytest.mark.parametrize("lines", [40, 14, 8])
def test_every_block_is_there_once_and_nothing_else(
    theatre: Theatre, does_reflow: bool, lines: int
) -> None:
    chat = theatre.stage(columns=100, lines=lines, does_reflow=does_reflow)
    chat.say("wide-stream")
    chat.wait_for("p1w25")
    theatre.gate(1, 2)
    chat.wait_for("p1w59.").wait_for("p2w25")
    chat.resize(40, lines)
    chat.wait_for_drawing()
    assert len(_headers(chat)) == 1, chat.all
    theatre.gate(3, 4)
    chat.wait_for("p3w25")
    chat.resize(100, lines)
    chat.wait_for_drawing()
    assert len(_headers(chat)) == 1, chat.all
    theatre.gate(*range(5, 9))
    chat.wait_for("p4w59.").wait_for_prompt()
    assert _headers(chat) == [], chat.all
    assert re.findall(r"Paragraph \d", chat.all) == [f"Paragraph {at}" for at in range(1, 5)]
    whole = range(1, 5) if does_reflow else (2, 3, 4)
    for number in whole:
        assert _words(chat, number) == _numbers(60), chat.all


@_KINDS
def test_a_window_of_reasoning_leaves_nothing_behind(theatre: Theatre, does_reflow: bool) -> None:
    chat = theatre.stage(columns=100, does_reflow=does_reflow)
    chat.say("deep-thought")
    chat.wait_for("then the power.")
    for columns in (40, 100, 55, 40, 100):
        chat.resize(columns, 24)
        chat.wait_for_drawing()
        assert len(_headers(chat)) == 1, chat.all
    # A drawing that begins at one width and ends at another may leave something behind.
    chat.resize(40, 24)
    chat.wait_for_drawing()
    theatre.gate(1)
    chat.wait_for("Thought for").wait_for("p1w25")
    chat.resize(100, 24)
    chat.wait_for_drawing()
    theatre.gate(2, 3, 4, 5)
    chat.wait_for("p2w59.").wait_for_prompt()
    assert _headers(chat) == [], chat.all
    assert "│" not in chat.all
    assert chat.all.count("Thought for") == 1
    for number in (1, 2):
        assert _words(chat, number) == _numbers(60), chat.all


@_KINDS
def test_many_resizes_between_two_drawings(theatre: Theatre, does_reflow: bool) -> None:
    chat = theatre.stage(columns=100, lines=30, does_reflow=does_reflow)
    chat.say("wide-stream")
    for number in range(1, 9):
        chat.wait_for(f"p{(number + 1) // 2}w{25 if number % 2 else 59}")
        for columns in (40, 70, 41, 100):
            chat.resize(columns, 30)
        theatre.gate(number)
    chat.wait_for_prompt()
    assert _headers(chat) == [], chat.all
    titles = re.findall(r"Paragraph \d", chat.all)
    if does_reflow:
        # On a busy machine a drawing may fall between two resizes, and what the terminal then moves
        # out of reach stays there twice. Nothing is missing, and the order is right.
        assert list(dict.fromkeys(titles)) == [f"Paragraph {at}" for at in range(1, 5)]
        for number in range(1, 5):
            assert list(dict.fromkeys(_words(chat, number))) == _numbers(60), chat.all
    else:
        assert titles == [f"Paragraph {at}" for at in range(1, 5)]

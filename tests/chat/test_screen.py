"""What the screen shows while an answer comes, and after it has come."""

from __future__ import annotations

import re

import pytest
from wcwidth import wcswidth

from tests.chat.conftest import Theatre
from tests.chat.terminal import Terminal

_HEADER = re.compile(r"^. (.+) · (\d+) s")


def _live(terminal: Terminal) -> list[str]:
    """The rows of the window, header first."""
    rows = [row for row in terminal.rows if row]
    start = next(at for at, row in enumerate(rows) if _HEADER.match(row))
    return rows[start:]


def _is_dim(terminal: Terminal, words: str) -> bool:
    screen = terminal.screen
    line = next(at for at, row in enumerate(screen.display) if words in row)
    column = screen.display[line].index(words)
    return bool(screen.buffer[line][column].blink)


def test_reasoning_shows_in_a_small_dim_window_and_folds_when_the_answer_begins(
    theatre: Theatre,
) -> None:
    chat = theatre.stage(is_forked=False)
    chat.say("survey the river")
    chat.wait_for("Thinking · 0 s")
    theatre.gate(1)
    chat.wait_for("Reading the question · ").wait_for("decides how much power")
    assert _is_dim(chat, "The river decides")
    assert chat.is_cursor_hidden
    theatre.gate(2)
    chat.wait_for("Weighing the flow · ").wait_for("then the power.")
    header, *window = _live(chat)
    assert header.endswith("Ctrl-C stops")
    assert len(window) == 6
    assert all(row.startswith("│ ") for row in window)
    theatre.gate(3, 4, 5)
    chat.wait_for("small mill")
    theatre.gate(6)
    chat.wait_for(lambda shown: "Thought for a moment · 1 tool" in shown.shown)
    # The window may be erased in the next drawing only.
    chat.wait_for(lambda shown: "│" not in shown.all)
    assert "decides how much" not in chat.all
    theatre.gate(7, 8)
    chat.wait_for_prompt()
    assert not chat.is_cursor_hidden


def test_a_tool_shows_how_far_it_is_and_what_came_of_it(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("survey the river")
    theatre.gate(1, 2, 3)
    chat.wait_for("Using survey · ")
    chat.wait_for("● survey Weser · sounding ━━━───────── 25 %").wait_for("  left bank")
    theatre.gate(4)
    chat.wait_for("● survey Weser · sounding ━━━━━━━━━─── 75 %").wait_for("  right bank")
    assert "left bank" not in chat.all
    theatre.gate(5)
    chat.wait_for("✓ survey Weser → 2.4 m³/s over 3.1 m · ")


def test_markdown_is_printed_once_for_each_block_as_it_settles(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("survey the river")
    theatre.gate(1, 2, 3, 4, 5, 6)
    chat.wait_for("return 9.81").wait_for("Writing · ")
    assert "About 55 kW" in chat.shown
    assert "**" not in chat.all
    assert "```" not in chat.all
    theatre.gate(7, 8)
    chat.wait_for_prompt()
    for words in (
        "About 55 kW",
        "Open the sluice",
        "def power_kw",
        "Water never tires",
        "2.4 m³/s",
    ):
        assert chat.all.count(words) == 1, words
    assert "1 Open the sluice." in chat.all
    assert re.search(r"\d+ tokens · ", chat.all)
    assert "Writing" not in chat.all


def test_what_has_scrolled_away_is_never_touched_again(theatre: Theatre) -> None:
    chat = theatre.stage(lines=12)
    chat.say("many")
    seen: list[list[str]] = []

    def is_whole(shown: Terminal) -> bool:
        seen.append(shown.past)
        return "Paragraph 79" in shown.all

    chat.wait_for(is_whole)
    theatre.gate(1)
    chat.wait_for_prompt()
    assert all(chat.past[: len(past)] == past for past in seen)
    found = re.findall(r"Paragraph (\d+) of the long answer\.", chat.all)
    assert found == [str(number) for number in range(80)]


def test_an_answer_without_reasoning_shows_no_thought(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("answer")
    chat.wait_for("Water never tires.").wait_for_prompt()
    assert "Thought" not in chat.all


def test_reasoning_can_be_hidden(theatre: Theatre) -> None:
    chat = theatre.stage("--no-reasoning")
    chat.say("survey the river")
    theatre.gate(1, 2)
    chat.wait_for("Weighing the flow · ")
    assert "│" not in chat.all


def test_a_failure_says_what_happened_and_what_to_do(theatre: Theatre) -> None:
    chat = theatre.stage()
    chat.say("fail")
    chat.wait_for("The provider is overloaded. Wait a moment, then retry. (/retry)")
    chat.wait_for_prompt()
    assert "Half of" in chat.all
    assert "Too many mills." in chat.all


# -- sizes


@pytest.mark.parametrize("columns", [40, 24, 120])
def test_every_state_fits_into_the_columns(theatre: Theatre, columns: int) -> None:
    chat = theatre.stage(columns=columns)
    chat.say("survey the river")
    theatre.gate(1, 2, 3)
    chat.wait_for("25 %")
    header, *window = _live(chat)
    assert "Using" in header
    assert sum(row.startswith("│ ") for row in window) == 6 if columns < 100 else 5
    theatre.gate(4, 5, 6, 7, 8)
    chat.wait_for("Water never tires.").wait_for_prompt()
    assert "Open the sluice." in chat.words
    # A row that is as wide as the terminal has been broken by the terminal, not by us.
    drawn = [row for row in (*chat.past, *chat.rows) if "›" not in row]
    assert max(wcswidth(row) for row in drawn) < columns


def test_wide_characters_are_counted_right(theatre: Theatre) -> None:
    chat = theatre.stage(columns=40)
    chat.say("wide")
    chat.wait_for(lambda shown: sum(row.startswith("│") for row in shown.rows) == 6)
    assert len([row for row in chat.rows if _HEADER.match(row)]) == 1
    theatre.gate(1)
    chat.wait_for("Writing · ").wait_for(lambda shown: shown.all.count("水車") == 6)
    assert "│" not in chat.all
    theatre.gate(2)
    chat.wait_for_prompt()
    assert chat.words.replace(" ", "").count("mélange한국어") == 8
    assert max(wcswidth(row) for row in chat.rows) < 40


@pytest.mark.parametrize(("columns", "lines"), [(40, 24), (120, 24), (80, 10), (50, 12)])
def test_a_resize_in_the_middle_leaves_one_window_and_what_was_printed(
    theatre: Theatre, columns: int, lines: int
) -> None:
    chat = theatre.stage()
    chat.say("survey the river")
    theatre.gate(1, 2)
    chat.wait_for("then the power.")
    chat.resize(columns, lines)
    theatre.gate(3)
    chat.wait_for("25 %")
    assert len([row for row in chat.rows if _HEADER.match(row)]) == 1
    theatre.gate(4, 5, 6)
    chat.wait_for("return 9.81")
    chat.resize(80, 24)
    theatre.gate(7, 8)
    chat.wait_for("Water never tires.").wait_for_prompt()
    assert chat.all.count("Water never tires.") == 1
    assert "Thought for a moment · 1 tool" in chat.all
    assert not [row for row in chat.rows if _HEADER.match(row)]


def test_no_color_takes_the_colours_and_leaves_the_window(theatre: Theatre) -> None:
    chat = theatre.stage(environment={"NO_COLOR": "1"})
    chat.say("survey the river")
    theatre.gate(1, 2)
    chat.wait_for("then the power.")
    theatre.gate(3, 4, 5, 6, 7, 8)
    chat.wait_for("Water never tires.").wait_for_prompt()
    codes = set(re.findall(rb"\x1b\[([0-9;]*)m", chat.raw))
    assert not [code for code in codes if re.search(rb"(^|;)(3[0-8]|4[0-8]|9[0-7])(;|$)", code)]

"""Rows of the table."""

from __future__ import annotations

from headrace.cli.terminal.output import Paint
from headrace.cli.terminal.record_table import Table
from headrace.events import (
    Event,
    Record,
    TextDelta,
    ToolCallArgsDelta,
    TurnFailed,
    TurnFinished,
    UnknownEvent,
)
from headrace.outcome import END_TURN

PLAIN = Table(60, Paint(False))


def _row(event: Event | UnknownEvent, at_ms: int = 0, table: Table = PLAIN) -> str:
    return table.row(Record(1, at_ms, event))


def test_a_row_has_time_event_part_and_words() -> None:
    assert _row(TextDelta(3, "Hi"), 420) == "   0.420  text_delta               3  Hi"
    assert _row(TurnFinished(reason=END_TURN)) == "   0.000  turn_finished               end_turn"


def test_columns_stand_under_their_names() -> None:
    header = PLAIN.header()
    row = _row(ToolCallArgsDelta(1234, "{"))
    assert row.index("tool_call") == header.index("event")
    assert row.index("1234") == header.index("part")


def test_a_row_fits_on_its_line() -> None:
    row = _row(TextDelta(0, "long " * 100))
    assert len(row) == 60
    assert row.endswith("…")


def test_a_failure_is_told_in_full_on_one_row() -> None:
    row = _row(TurnFailed(category="server", message="long\n" * 100))
    assert "\n" not in row
    assert row.count("long⏎") == 100


def test_what_a_model_says_does_not_reach_the_terminal_raw() -> None:
    hostile = "\x1b]52;c;cm0gLXJm\x07\x9b2J"
    for event in (
        TextDelta(0, hostile),
        TurnFailed(category="server", message=hostile),
        UnknownEvent(hostile, hostile.encode()),
    ):
        assert not set(_row(event)) & set("\x1b\x07\x9b")
    assert not set(PLAIN.heading(hostile, "sse")) & set("\x1b\x07\x9b")


def test_colours_surround_the_row_and_nothing_else() -> None:
    row = _row(TurnFinished(reason=END_TURN), table=Table(60, Paint(True)))
    assert row == ("\x1b[2m   0.000\x1b[0m  \x1b[32mturn_finished               end_turn\x1b[0m")

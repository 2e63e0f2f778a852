"""The whole truth table of `output_status`, and the cases that its document names."""

from __future__ import annotations

from itertools import product

import pytest

from headrace.outcome import END_TURN, TOOL_USE
from headrace.phases import OutputStats, output_status

# finished, reasoning, content, call, reasoning last → reasoning, content
# "*" is either; rows are tried from the top.
TABLE = (
    ("1", "*", "*", "*", "*", "complete", "complete"),
    ("0", "*", "1", "*", "1", "pending", "pending"),
    ("0", "*", "0", "*", "1", "pending", "init"),
    ("0", "*", "1", "*", "0", "complete", "pending"),
    ("0", "*", "0", "1", "0", "complete", "init"),
    ("0", "1", "0", "0", "0", "pending", "init"),
    ("0", "0", "0", "0", "0", "init", "init"),
)


def wanted(facts: tuple[bool, ...]) -> tuple[str, str]:
    bits = ["1" if fact else "0" for fact in facts]
    row = next(
        row
        for row in TABLE
        if all(asked in ("*", bit) for asked, bit in zip(row[:5], bits, strict=True))
    )
    return row[5], row[6]


@pytest.mark.parametrize("facts", list(product((False, True), repeat=5)))
def test_every_combination_has_its_status(facts: tuple[bool, ...]) -> None:
    is_finished, has_reasoning, has_content, has_call, is_reasoning_last = facts
    stats = OutputStats(
        is_finished=is_finished,
        reasoning_deltas=3 * has_reasoning,
        content_deltas=2 * has_content,
        has_call=has_call,
        is_reasoning_last=is_reasoning_last,
    )
    assert output_status(stats) == wanted(facts)


@pytest.mark.parametrize("deltas", [1, 2, 1000])
def test_how_many_deltas_there_are_makes_no_difference(deltas: int) -> None:
    one = OutputStats(reasoning_deltas=1, is_reasoning_last=True)
    many = OutputStats(reasoning_deltas=deltas, is_reasoning_last=True)
    assert output_status(one) == output_status(many) == ("pending", "init")


def test_how_an_output_finished_makes_no_difference() -> None:
    for finish in (END_TURN, TOOL_USE, None):
        assert output_status(OutputStats(is_finished=True, finish=finish)) == (
            "complete",
            "complete",
        )

"""Precision and recall of the status line on the labelled excerpts, and how many recorded
streams it finds something for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.events import ReasoningDelta, Record
from headrace.status import StatusReader
from headrace.wire.decode import decode
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.phases.evaluation import Score
from tests.phases.excerpts import EXCERPTS

MIN_PRECISION = 0.9
MIN_RECALL = 0.8
MIN_COVERAGE = 0.8
_LONG_CHARS = 200
_WORDS_PER_S = 20


def test_there_are_enough_of_each_kind() -> None:
    assert len(EXCERPTS) >= 150
    assert sum(e.language == "zh" for e in EXCERPTS) >= 50
    assert sum(e.is_trap for e in EXCERPTS) >= 50
    assert len({e.name for e in EXCERPTS}) == len(EXCERPTS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_shown_is_right_and_little_is_missed(
    language: str, record_property: Callable[[str, object], None]
) -> None:
    score = Score()
    for excerpt in EXCERPTS:
        if excerpt.language == language:
            score.add(excerpt)
    record_property(
        "summary",
        f"status phrases ({language}): precision {score.precision:.3f}, recall {score.recall:.3f}"
        f" ({score.right} right, {len(score.wrong)} wrong, {len(score.missed)} missed)",
    )
    assert score.precision >= MIN_PRECISION, score.wrong
    assert score.recall >= MIN_RECALL, score.missed


@pytest.mark.skipif(not rows(), reason="the recorded streams are not here")
def test_most_recorded_reasoning_gives_a_status(
    record_property: Callable[[str, object], None],
) -> None:
    found = [_has_status(records) for records in _long_reasonings()]
    record_property(
        "summary",
        f"status phrases: {sum(found)} of {len(found)} recorded streams with {_LONG_CHARS} or more"
        " characters of reasoning have one",
    )
    assert sum(found) / len(found) > MIN_COVERAGE


def _long_reasonings() -> list[list[Record]]:
    decoded = (list(decode([read(row)], framing=FRAMINGS[row["framing"]])) for row in rows())
    return [records for records in decoded if _chars(records) >= _LONG_CHARS]


def _chars(records: list[Record]) -> int:
    return sum(len(r.event.text) for r in records if isinstance(r.event, ReasoningDelta))


def _has_status(records: list[Record]) -> bool:
    """A tool's status does not count: it says nothing about what is thought."""
    reader = StatusReader()
    timed = [
        Record(record.seq, place * 1000 // _WORDS_PER_S, record.event)
        for place, record in enumerate(records)
    ]
    return any(status.source != "tool" for record in timed for status in reader.feed(record))

"""Precision and recall of the status line on the labelled excerpts, and how many recorded
streams it finds something for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.events import ReasoningDelta, Record
from headrace.status import StatusReader
from headrace.status.phrase import find_phrase
from headrace.wire.decode import decode
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.phases.evaluation import Score
from tests.phases.excerpts import EXCERPTS
from tests.phases.fresh_excerpts import Half, count, fresh_excerpts

MIN_PRECISION = 0.9
MIN_RECALL = 0.8
MIN_COVERAGE = 0.8
MIN_FRESH_PRECISION = 0.92
MIN_FRESH_RECALL = 0.85
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


def test_there_are_enough_fresh_excerpts() -> None:
    assert count() >= 300


@pytest.mark.parametrize("half", ["tuning", "judging"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_fresh_excerpts_are_read_as_well(
    language: str, half: Half, record_property: Callable[[str, object], None]
) -> None:
    excerpts = fresh_excerpts(half, language)
    if not excerpts:
        pytest.skip("the recorded streams are not here")
    score = Score()
    for excerpt in excerpts:
        score.add(excerpt)
    record_property(
        "summary",
        f"status phrases ({language}, fresh, {half} half): precision {score.precision:.3f},"
        f" recall {score.recall:.3f}",
    )
    # Which ones are wrong is not told: patterns must not be adjusted to the judging half.
    assert score.precision >= MIN_FRESH_PRECISION
    assert score.recall >= MIN_FRESH_RECALL


# Sentences that only one family of patterns finds, in the order of the families.
FAMILIES = {
    "en": [
        ("Let me compare the two invoices.", "Compare the two invoices"),
        ("I'm narrowing the list of suspects.", "Narrowing the list of suspects"),
        ("Reviewing the failed test cases.", "Reviewing the failed test cases"),
        ("Next, compute the sum of squares.", "Compute the sum of squares"),
        ("The key point is the missing index.", "The key point is the missing index"),
    ],
    "zh": [
        ("让我对照两张发票的金额。", "对照两张发票的金额"),
        ("我需要检查缓存是否过期。", "检查缓存是否过期"),
        ("正在检索相关的法律条文。", "检索相关的法律条文"),
        ("接下来统计每天的访问量。", "统计每天的访问量"),
        ("问题的关键在于时区不同。", "问题的关键在于时区不同"),
    ],
}


@pytest.mark.parametrize("language", FAMILIES)
def test_every_family_of_patterns_is_needed(language: str) -> None:
    found = [find_phrase(sentence) for sentence, _ in FAMILIES[language]]
    assert found == [phrase for _, phrase in FAMILIES[language]]


@pytest.mark.parametrize(
    "sentence",
    [
        "Checking whether the index is used by the query.",
        "Considering the trade-offs between latency and cost.",
        "Thinking about how users would call the function.",
        "An important aspect is the order of the frames.",
        "The main issue here is the missing lock.",
    ],
)
def test_sentences_of_the_documents_own_patterns_are_found(sentence: str) -> None:
    assert find_phrase(sentence) == sentence.rstrip(".")


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

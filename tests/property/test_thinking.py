"""Phases and frames over authored and recorded streams, cut anywhere and ended any way."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Record
from headrace.outcome import abort_reason
from headrace.phases import Notice, PhaseTracker
from headrace.projections.thinking import ThinkingFrame, ThinkingProjection, frame_type
from headrace.wire.decode import decode
from tests.authored import Stream
from tests.corpus.recorded import FRAMINGS, read, rows
from tests.dialect_streams import ANY_STREAM
from tests.phases.order import check_frames, check_notices

MODES = ("transition", "phase")
ENDINGS: dict[str, list[ev.Event]] = {
    "end of bytes": [],
    "error": [ev.TurnFailed(category="network", message="gone")],
    "cancel": [ev.RunFinished(abort_reason("cancelled"))],
    "cancel, closed": [ev.RunFinished(abort_reason("cancelled")), ev.RunClosed("committed", "m")],
    "failed run": [ev.RunFailed(category="interrupted", message="stopped")],
}
# All of a short stream, and so many of a long one.
_MAX_PREFIXES = 100


def records_of(data: bytes, framing: str = "sse") -> list[Record]:
    records = list(decode([data], framing=framing))
    return [Record(r.seq, r.seq * 37, r.event, r.path, r.step) for r in records]


def ended(records: list[Record], ending: str) -> list[Record]:
    """The records and what ends them, unless they have ended."""
    if records and isinstance(records[-1].event, ev.TurnFinished | ev.TurnFailed):
        return records
    seq = len(records)
    more = [Record(seq + n, (seq + n) * 37, event) for n, event in enumerate(ENDINGS[ending], 1)]
    return records + more


def frames_of(records: list[Record]) -> list[ThinkingFrame]:
    projection = ThinkingProjection()
    return [f for r in records for f in projection.feed(r)] + projection.close()


def notices_of(records: list[Record], mode: Any) -> list[Notice]:
    tracker = PhaseTracker(mode)
    return [n for r in records for n in tracker.feed(r)] + tracker.close()


def has_reasoning(records: list[Record]) -> bool:
    """In the output that is shown."""
    outputs = [r.event.output for r in records if isinstance(r.event, ev.OutputStarted)]
    kinds = (ev.ReasoningStarted, ev.ReasoningRedacted)
    return any(isinstance(r.event, kinds) and r.event.output in outputs[:1] for r in records)


@given(ANY_STREAM, st.data())
def test_any_prefix_that_ends_any_way_is_in_order(stream: Stream, data: st.DataObject) -> None:
    records = records_of(stream.data, framing=stream.framing)
    cut = data.draw(st.integers(0, len(records)))
    prefix = ended(records[:cut], data.draw(st.sampled_from(list(ENDINGS))))
    frames = frames_of(prefix)
    check_frames(frames)
    assert ("thinking_complete" in map(frame_type, frames)) == has_reasoning(prefix)
    for mode in MODES:
        check_notices(notices_of(prefix, mode))


@given(ANY_STREAM)
def test_the_modes_tell_the_same_and_only_the_moment_differs(stream: Stream) -> None:
    records = records_of(stream.data, framing=stream.framing)
    told = [
        sorted((n.name, n.context.output, str(n.value)) for n in notices_of(records, mode))
        for mode in MODES
    ]
    assert told[0] == told[1]


@given(ANY_STREAM)
def test_frames_say_what_the_records_say(stream: Stream) -> None:
    records = records_of(stream.data, framing=stream.framing)
    started = [r.event for r in records if isinstance(r.event, ev.TextStarted)]
    first = next((r.event.output for r in records if isinstance(r.event, ev.OutputStarted)), 0)
    ours = {event.part for event in started if event.output == first}
    said = [
        r.event.text for r in records if isinstance(r.event, ev.TextDelta) and r.event.part in ours
    ]
    frames = frames_of(records)
    shown = [getattr(f, "content", "") for f in frames if frame_type(f) == "text_delta"]
    # A bracket may wait for the next delta, in case it begins a status marker.
    assert "".join(shown) == "".join(said)


@pytest.mark.skipif(not rows(), reason="the recorded streams are not here")
def test_every_recorded_stream_and_its_prefixes_are_in_order() -> None:
    chance = random.Random(4)
    for row in rows():
        records = records_of(read(row), FRAMINGS[row["framing"]])
        frames = frames_of(records)
        check_frames(frames)
        assert ("thinking_complete" in map(frame_type, frames)) == has_reasoning(records), row
        for mode in MODES:
            check_notices(notices_of(records, mode))
        _check_prefixes(records, chance)


@pytest.mark.skipif(not rows(), reason="the recorded streams are not here")
def test_no_recorded_item_that_has_text_has_an_empty_part_too() -> None:
    """A part that opens before its text has the kind that the text then has."""
    for row in rows("openai-responses", "anthropic"):
        item_of: dict[int, int] = {}
        has_text: set[int] = set()
        for record in records_of(read(row), FRAMINGS[row["framing"]]):
            if isinstance(record.event, ev.ReasoningStarted):
                item_of[record.event.part] = record.event.item
            elif isinstance(record.event, ev.ReasoningDelta):
                has_text.add(record.event.part)
        empty = {item for part, item in item_of.items() if part not in has_text}
        assert not empty & {item_of[part] for part in has_text}, row["file"]


def _check_prefixes(records: list[Record], chance: random.Random) -> None:
    count = min(_MAX_PREFIXES, len(records))
    places = set(chance.sample(range(len(records)), count))
    projection, tracker = ThinkingProjection(), PhaseTracker()
    frames: list[ThinkingFrame] = []
    notices: list[Notice] = []
    for place, record in enumerate(records):
        if place in places:
            ending = chance.choice(list(ENDINGS))
            rest = ended(records[:place], ending)[place:]
            shown, told = deepcopy(projection), deepcopy(tracker)
            check_frames([*frames, *(f for r in rest for f in shown.feed(r)), *shown.close()])
            check_notices([*notices, *(n for r in rest for n in told.feed(r)), *told.close()])
        frames += projection.feed(record)
        notices += tracker.feed(record)

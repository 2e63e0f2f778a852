"""How long reasoning took in the ux protocol, also where no text tells when it began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import events as ev
from headrace.content import JSONContent
from headrace.events import Record
from headrace.messages import fold
from headrace.outcome import END_TURN, TOOL_USE
from headrace.projections.ux import UXProjection, fold_frames, to_event
from headrace.projections.ux.segment import ReasoningSegment

_PLACE: dict[str, Any] = {"output": 0, "item": 0}
_Timed = Sequence[tuple[Any, ...]]


def reasoning(timed: _Timed) -> list[ReasoningSegment]:
    """The reasoning segments of records at these times (and steps); live and stored are equal."""
    records = [
        Record(number, at_ms, event, (), step[0] if step else 0)
        for number, (at_ms, event, *step) in enumerate(timed, 1)
    ]
    projection = UXProjection("e")
    frames = [frame for record in records for frame in projection.feed(record)]
    frames += projection.close()
    event = to_event(fold(records), event_id="e")
    assert fold_frames(frames) == event
    return [one for one in event.segments if isinstance(one, ReasoningSegment)]


def redacted(part: int) -> ev.Event:
    return ev.ReasoningRedacted(part=part, **_PLACE, data="x")


BEGIN = [
    (1_000, ev.TurnStarted(dialect="anthropic")),
    (1_100, ev.OutputStarted(0)),
]
TEXT = [
    (1_200, ev.TextStarted(part=0, **_PLACE)),
    (1_300, ev.TextDelta(0, "Hm.")),
    (2_000, ev.TextFinished(0)),
]


def test_a_redacted_block_takes_the_time_since_the_message_began() -> None:
    (segment,) = reasoning([*BEGIN, (61_000, redacted(0))])
    assert (segment.duration_ms, segment.parts[0].created_at) == (60_000, 1_000)


def test_a_redacted_block_takes_the_time_since_the_part_before_it() -> None:
    (segment,) = reasoning([*BEGIN, *TEXT, (32_000, redacted(1)), (40_000, redacted(2))])
    assert segment.duration_ms == 38_000
    assert [part.created_at for part in segment.parts] == [2_000, 32_000]


def test_a_redacted_block_takes_the_time_since_the_last_tool_result() -> None:
    call = ev.ToolCallStarted(part=1, **_PLACE, call_id="c", name="f")
    done = ev.ToolCallFinished(part=1, call_id="c", name="f", args={}, raw="{}")
    (segment,) = reasoning(
        [
            *BEGIN,
            *TEXT,
            (3_000, call),
            (3_000, done),
            (3_000, ev.OutputFinished(0, TOOL_USE)),
            (3_000, ev.TurnFinished(reason=TOOL_USE)),
            (3_100, ev.ToolStarted("c", {})),
            (9_000, ev.ToolResult(call_id="c", content=(JSONContent(1),))),
            (9_001, ev.TurnStarted(dialect="anthropic"), 1),
            (9_002, ev.OutputStarted(0), 1),
            (14_000, redacted(2), 1),
            (14_000, ev.OutputFinished(0, END_TURN), 1),
            (14_000, ev.TurnFinished(reason=END_TURN), 1),
        ]
    )
    assert segment.duration_ms == 5_000


def test_hidden_reasoning_takes_the_time_from_its_start_to_its_end() -> None:
    (segment,) = reasoning(
        [
            *BEGIN,
            (1_500, ev.ReasoningStarted(part=0, **_PLACE, kind="summary", summary_index=0)),
            (61_500, ev.ReasoningFinished(0)),
            (61_600, ev.OutputFinished(0, END_TURN)),
            (61_600, ev.TurnFinished(reason=END_TURN)),
        ]
    )
    assert (segment.duration_ms, segment.combined_text) == (60_000, "")

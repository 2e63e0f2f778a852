"""What must be true of every list of ux frames, however the stream ended."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from headrace.projections.ux import MessageEvent, UXFrame, fold_frames, frame_type
from headrace.projections.ux import frame as fr
from headrace.projections.ux import segment as sg

ENDS = ("message_final", "message_error", "message_cancelled")
ORDER: dict[str, dict[str, str]] = {
    "before": {"started": "open"},
    "open": {"delta": "open", "completed": "whole"},
    "whole": {},
}
"""A part of reasoning; what is not here does not happen."""


def check_ux(frames: list[UXFrame]) -> MessageEvent:
    """One start, one end, parts in order, numbers without gaps; and the frames fold to the event
    that the last one brings."""
    kinds = [frame_type(frame) for frame in frames]
    assert kinds[0] == "message_started"
    assert kinds.count("message_started") == 1
    assert kinds[-1] in ENDS
    assert sum(kind in ENDS for kind in kinds) == 1
    last: Any = frames[-1]
    event: MessageEvent = last.event
    assert {getattr(frame, "event_id", event.id) for frame in frames} == {event.id}
    _check_parts(frames, event)
    _check_places(frames)
    _check_event(event)
    assert fold_frames(frames) == event
    return event


def _check_parts(frames: list[UXFrame], event: MessageEvent) -> None:
    states: dict[tuple[str, int], str] = defaultdict(lambda: "before")
    parts: dict[str, int] = defaultdict(int)
    for frame in frames:
        if isinstance(
            frame, fr.ReasoningPartStarted | fr.ReasoningPartDelta | fr.ReasoningPartCompleted
        ):
            verb = frame_type(frame).removeprefix("reasoning_part_")
            key = (frame.segment_id, frame.summary_index)
            states[key] = ORDER[states[key]][verb]
        if isinstance(frame, fr.ReasoningPartStarted):
            assert frame.summary_index == parts[frame.segment_id]
            parts[frame.segment_id] += 1
        if isinstance(frame, fr.ReasoningPartDelta):
            assert frame.text_delta
    for segment in event.segments:
        if isinstance(segment, sg.ReasoningSegment):
            for part in segment.parts:
                is_whole = states[segment.id, part.summary_index] == "whole"
                assert part.is_complete == is_whole


def _check_places(frames: list[UXFrame]) -> None:
    """`sequence_number` is the place in the list as it stands, and tools begin before they go
    on."""
    shown: list[str] = []
    called: set[str] = set()
    for frame in frames:
        match frame:
            case fr.ReasoningPartStarted():
                if not frame.summary_index:
                    shown.append(frame.segment_id)
                assert shown.index(frame.segment_id) == frame.sequence_number
            case fr.ToolCallStarted():
                shown.append(frame.segment_id)
                called.add(frame.call_id)
                assert len(shown) == frame.sequence_number + 1
            case fr.SegmentAdded():
                shown.append(frame.segment.id)
                number = getattr(frame.segment, "sequence_number", len(shown) - 1)
                assert len(shown) == number + 1
            case fr.UserMessageAddedFrame():
                shown.append(frame.segment_id)
                assert len(shown) == frame.sequence_number + 1
            case fr.ToolCallUpdate() | fr.ToolResultFrame():
                assert frame.call_id in called
            case fr.StepDiscardedFrame():
                shown = [one for one in shown if one not in frame.segment_ids]
            case _:
                pass
    assert len(shown) == len(set(shown))


def _check_event(event: MessageEvent) -> None:
    parts = 0
    for number, segment in enumerate(event.segments):
        assert getattr(segment, "sequence_number", number) == number
        if isinstance(segment, sg.TextSegment):
            assert segment.text
        if isinstance(segment, sg.ReasoningSegment):
            assert segment.streaming is False
            assert [part.summary_index for part in segment.parts] == [*range(len(segment.parts))]
            for part in segment.parts:
                assert part.sequence_number == parts
                parts += 1
    assert len({segment.id for segment in event.segments}) == len(event.segments)
    assert event.finish is None or event.error is None

"""Reasoning in the ux protocol: segments, their parts, and when a part is complete."""

from __future__ import annotations

from typing import TypeAlias

from headrace import events as ev
from headrace.projections.ux import frame as fr
from headrace.projections.ux.event import part_type, segment_id
from headrace.projections.ux.frame import UXFrame
from headrace.projections.ux.live_message import LiveMessage
from headrace.projections.ux.live_segment import LivePart, LiveReasoning, LiveSegment
from headrace.projections.ux.segment import PartType
from headrace.status.reader import StatusReader
from headrace.usage import Usage

_Start: TypeAlias = ev.ReasoningStarted | ev.ReasoningRedacted


class UXReasoning:
    """Makes the frames of reasoning segments.

    The projection calls `release()` before a part of the same output begins, and `interrupt()`
    when something other than reasoning does.
    """

    __slots__ = (
        "_has_final_text", "_held", "_joined", "_message", "_newest", "_parts", "_segments",
        "_status", "_unsettled", "segment_of_part",
    )  # fmt: skip

    def __init__(self, message: LiveMessage, status: StatusReader, *, has_final_text: bool) -> None:
        self._message = message
        self._status = status
        self._has_final_text = has_final_text
        self._parts: dict[int, LivePart] = {}
        self.segment_of_part: dict[int, LiveSegment] = {}
        # State of the turn: the segment that reasoning may continue, all segments, those with more
        # facts to come, the last part per output, and per output the part whose end is not sent
        # yet because it may have been cut off.
        self._joined: LiveReasoning | None = None
        self._segments: list[LiveReasoning] = []
        self._unsettled: list[LiveReasoning] = []
        self._newest: dict[int, int] = {}
        self._held: dict[int, LivePart] = {}

    # -- parts

    def start(self, event: ev.ReasoningStarted) -> list[UXFrame]:
        """Return the frames of a part that begins."""
        at_ms = self._message.at_ms
        self._parts[event.part], frames = self._start(event, part_type(event.kind), at_ms)
        return frames

    def redact(self, event: ev.ReasoningRedacted) -> list[UXFrame]:
        """Return the frames of a part that comes whole. It took the time since the last
        activity."""
        since_ms = self._message.quiet_since_ms(event.output)
        part, frames = self._start(event, "redacted", since_ms)
        self._end_part(part)
        return [*frames, self._complete(part)]

    def _start(
        self, event: _Start, kind: PartType, began_ms: int
    ) -> tuple[LivePart, list[UXFrame]]:
        frames: list[UXFrame] = []
        segment = self._joined
        if segment is None or (segment.output, segment.item_id) != (event.output, event.item_id):
            frames = self.settle()
            segment = self._open_segment(event, began_ms)
        start = fr.ReasoningPartStarted(
            self._message.event_id,
            segment.id,
            segment.parts,
            segment.number,
            began_ms,
            kind,
            event.output,
        )
        part = LivePart(event.part, segment, self._status.thought(event.part))
        segment.parts += 1
        segment.open_parts += 1
        self.segment_of_part[event.part] = segment
        return part, [*frames, start]

    def _open_segment(self, event: _Start, began_ms: int) -> LiveReasoning:
        message = self._message
        name, number = segment_id(message.event_id, event.part), len(message.segments)
        segment = LiveReasoning(
            name, message.step, number, event.output, event.item_id, began_ms, began_ms
        )
        message.segments.append(segment)
        self._joined = segment
        self._segments.append(segment)
        self._unsettled.append(segment)
        return segment

    def feed(self, event: ev.ReasoningDelta) -> list[UXFrame]:
        """Return the frames of more text, and of a status that is found in it."""
        part = self._parts[event.part]
        if part.thought is None:
            return self._delta(part, part.markers.feed(event.text)[0])
        text, status = part.thought.feed(event.text)
        if status is None and self._status.waiting is None:
            return self._delta(part, text)
        message = self._message
        said = self._status.take_due(message.at_ms)
        if status is not None:
            said += self._status.show(status, message.at_ms)
        return [
            *self._delta(part, text),
            *(fr.Status(message.event_id, one.text, one.source, message.at_ms) for one in said),
        ]

    def _delta(self, part: LivePart, text: str) -> list[UXFrame]:
        if not text:
            return []
        if self._has_final_text:
            part.pieces.append(text)
        return [fr.ReasoningPartDelta(self._message.event_id, part.segment_id, part.index, text)]

    def restore(self, part: LivePart, text: str) -> list[UXFrame]:
        """Return the frame that replaces the text of a part. Text that may follow is no longer
        searched for status phrases."""
        part.restart()
        text = part.markers.feed(text)[0]
        part.pieces[:] = [text]
        event_id = self._message.event_id
        return [fr.PartRestoredFrame(event_id, part.segment_id, text, part.index)]

    def find(self, number: int) -> LivePart | None:
        """Return the open part with this number."""
        return self._parts.get(number)

    def rest(self, number: int) -> list[UXFrame]:
        """Return the text of a part that was held back because it could be a marker."""
        part = self._parts.get(number)
        return [] if part is None else self._delta(part, part.rest())

    def finish(self, event: ev.ReasoningFinished) -> list[UXFrame]:
        """End a part. The next record tells whether it is complete or was cut off."""
        part = self._parts.pop(event.part)
        self._end_part(part)
        if self._newest.get(part.output) != part.part:
            return [self._complete(part)]
        self._held[part.output] = part
        return []

    def _end_part(self, part: LivePart) -> None:
        part.segment.open_parts -= 1
        part.segment.ended_ms = self._message.at_ms
        self._message.note_activity(part.output)

    def _complete(self, part: LivePart) -> UXFrame:
        text = "".join(part.pieces) if self._has_final_text else None
        return fr.ReasoningPartCompleted(
            self._message.event_id, part.segment_id, part.index, True, text
        )

    # -- what comes beside and after it

    def release(self, output: int, newest: int | None = None) -> list[UXFrame]:
        """Return the end of a part that is complete, since its output goes on with `newest`."""
        if newest is not None:
            self._newest[output] = newest
        held = self._held.pop(output, None)
        return [] if held is None else [self._complete(held)]

    def release_all(self) -> list[UXFrame]:
        """Return the ends of all parts that are held back."""
        return [frame for output in [*self._held] for frame in self.release(output)]

    def interrupt(self) -> None:
        """Let later reasoning be a new segment."""
        self._joined = None

    def settle(self) -> list[UXFrame]:
        """Return facts about the segments that are over, since another one begins."""
        settled = [one for one in self._unsettled if not one.open_parts]
        self._unsettled = [one for one in self._unsettled if one.open_parts]
        return [frame for one in settled for frame in self._meta(one)]

    def end_turn(self, usage: Usage) -> list[UXFrame]:
        """Return what the end of a turn tells about its reasoning.

        Token counts are left out if there are several segments, since they cannot be told apart.
        """
        tokens = usage.reasoning_tokens if len(self._segments) == 1 else None
        wanted = self._unsettled if tokens is None else self._segments
        frames = [frame for segment in wanted for frame in self._meta(segment, tokens)]
        self._unsettled = []
        return frames

    def _meta(self, segment: LiveReasoning, tokens: int | None = None) -> list[UXFrame]:
        message = self._message
        duration_ms = None if segment.open_parts else segment.ended_ms - segment.started_ms
        facts = (message.effort, tokens, duration_ms, segment.item_id)
        if not any(fact is not None for fact in facts):
            return []
        return [fr.ReasoningSegmentMeta(message.event_id, segment.id, *facts)]

    def close(self) -> list[UXFrame]:
        """Return what is left of open parts at the end of the stream."""
        frames = [frame for part in [*self._parts] for frame in self.rest(part)]
        return [*frames, *self.end_turn(Usage())]

    def forget_turn(self) -> None:
        """Forget the state of a turn."""
        self._joined = None
        for of_turn in (self._segments, self._unsettled, self._newest, self._held):
            of_turn.clear()

    def discard(self) -> None:
        """Forget a turn that was taken back, with its open parts."""
        self.forget_turn()
        self._parts.clear()

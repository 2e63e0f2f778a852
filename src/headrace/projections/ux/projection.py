"""Turns records into the ux protocol: segments as they grow, and one end with the whole event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace import events as ev
from headrace.events import Record
from headrace.messages import Assembler, Citation, Message
from headrace.projections.ending import GOES_ON, Terminal, ending
from headrace.projections.ux import frame as fr
from headrace.projections.ux.event import (
    media_segment,
    opaque_segment,
    part_type,
    segment_id,
    text_segment,
    to_event,
    without_raw,
)
from headrace.projections.ux.frame import UXFrame
from headrace.projections.ux.live_segment import LivePart, LiveReasoning, LiveSegment, LiveText
from headrace.projections.ux.segment import PartType
from headrace.projections.ux.tool_calls import UXToolCalls
from headrace.status.reader import StatusReader
from headrace.usage import Usage

_Start: TypeAlias = ev.ReasoningStarted | ev.ReasoningRedacted
_PLACES = ("source", "ref", "title", "quote", "start", "end")


class UXProjection:
    """Turns the records of a run or a turn into ux frames.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. The first frame is
    `message_started`; the last is the only `message_final`, `message_error` or `message_cancelled`,
    and its event equals `to_event()` of the folded records.

    `event_id` is the message's id; by default it is derived from the run's id. All outputs are
    shown, nested runs are not. `has_final_text` repeats the text of a part when it is complete.
    `message` returns the folded message if the caller folds the same records anyway.
    """

    def __init__(
        self,
        event_id: str | None = None,
        *,
        has_final_text: bool = False,
        message: Callable[[], Message] | None = None,
    ) -> None:
        self._event_id = event_id or ""
        self._has_final_text = has_final_text
        self._assembler: Assembler | None = None
        if message is None:
            self._assembler = Assembler()
            message = self._assembler.message
        self._message = message
        self._status = StatusReader()
        self._is_begun = False
        self._is_over = False
        self._is_run = False
        self._effort: str | None = None
        self._terminal: Terminal | None = None
        self._at_ms = 0
        self._step = 0
        self._segments: list[LiveSegment] = []
        self._tools = UXToolCalls()
        self._parts: dict[int, LivePart] = {}
        self._texts: dict[int, LiveText] = {}
        self._cited_parts: dict[int, LiveSegment] = {}
        self._cited_steps: list[int] = []
        self._waiting: LiveText | None = None
        # State of the turn: the segment that reasoning may continue, all reasoning segments, those
        # with more facts to come, the last part per output, and per output the part whose end is
        # not sent yet because it may have been cut off.
        self._joined: LiveReasoning | None = None
        self._thoughts: list[LiveReasoning] = []
        self._unsettled: list[LiveReasoning] = []
        self._newest: dict[int, int] = {}
        self._held: dict[int, LivePart] = {}

    def feed(self, record: Record) -> list[UXFrame]:
        """Return the frames of the next record."""
        if record.path or self._is_over:
            return []
        event = record.event
        self._at_ms = record.at_ms
        if self._assembler is not None:
            self._assembler.feed(record)
        kind = type(event)
        if kind is ev.TextDelta:
            return self._text(event)  # type: ignore[arg-type]
        if kind is ev.ReasoningDelta:
            return self._thought(event)  # type: ignore[arg-type]
        return self._handle_rare(record)

    def close(self) -> list[UXFrame]:
        """End the stream: return the last frames, unless they were sent already."""
        if self._is_over:
            return []
        begun = [] if self._is_begun else self._begin(None)
        return [*begun, *self._end(None)]

    def _handle_rare(self, record: Record) -> list[UXFrame]:
        event = record.event
        frames = [] if self._is_begun else self._begin(event)
        if isinstance(event, GOES_ON):
            self._terminal = None
        self._step = self._tools.step = record.step
        self._tools.at_ms = record.at_ms
        # The held-back text is read before the reader of the part is gone.
        rest = self._rest(event.part) if isinstance(event, ev.ReasoningFinished) else []
        statuses = [self._status_frames(status) for status in self._status.feed(record)]
        frames += [*rest, *(status for status in statuses if status.source != "tool")]
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            frames += handle(self, event)
        else:
            frames += self._tools.feed(event)
        return [*frames, *(status for status in statuses if status.source == "tool")]

    def _begin(self, first: object) -> list[UXFrame]:
        self._is_begun = True
        run_id = first.run_id if isinstance(first, ev.RunStarted) else None
        response_id = first.response_id if isinstance(first, ev.TurnStarted) else None
        named = "_".join(filter(None, ("msg", run_id or response_id)))
        self._event_id = self._event_id or named
        return [fr.MessageStarted(self._event_id, run_id, self._at_ms)]

    def _status_frames(self, status: ev.StatusChanged) -> fr.Status:
        return fr.Status(self._event_id, status.text, status.source, self._at_ms)

    # -- parts and segments

    def _part_began(self, part: int, output: int) -> list[UXFrame]:
        """Handle the start of a part: earlier parts are complete and have their place."""
        frames = self._release_status(output)
        self._newest[output] = part
        if self._waiting is not None:
            frames += self._show_text(self._waiting)
        return frames

    def _release_status(self, output: int) -> list[UXFrame]:
        held = self._held.pop(output, None)
        return [] if held is None else [self._complete_part(held)]

    def _append(self, segment: LiveSegment) -> list[UXFrame]:
        """Start a segment. Earlier segments are settled, unless they continue beside it."""
        settled = [one for one in self._unsettled if not one.open_parts]
        self._unsettled = [one for one in self._unsettled if one.open_parts]
        self._segments.append(segment)
        return [frame for one in settled for frame in self._meta(one)]

    # -- reasoning

    def _thought(self, event: ev.ReasoningDelta) -> list[UXFrame]:
        part = self._parts[event.part]
        if part.thought is None:
            return self._delta(part, part.markers.feed(event.text)[0])
        text, status = part.thought.feed(event.text)
        if status is None:
            return self._delta(part, text)
        said = self._status.show(status, self._at_ms)
        return [*self._delta(part, text), *map(self._status_frames, said)]

    def _delta(self, part: LivePart, text: str) -> list[UXFrame]:
        if not text:
            return []
        if self._has_final_text:
            part.pieces.append(text)
        return [fr.ReasoningPartDelta(self._event_id, part.segment_id, part.index, text)]

    def _rest(self, number: int) -> list[UXFrame]:
        part = self._parts.get(number)
        return [] if part is None else self._delta(part, part.rest())

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[UXFrame]:
        part, frames = self._started_part(event, part_type(event.kind))
        self._parts[event.part] = part
        return frames

    def _reasoning_redacted(self, event: ev.ReasoningRedacted) -> list[UXFrame]:
        part, frames = self._started_part(event, "redacted")
        self._part_ended(part.segment)
        return [*frames, self._complete_part(part)]

    def _started_part(self, event: _Start, kind: PartType) -> tuple[LivePart, list[UXFrame]]:
        frames = self._part_began(event.part, event.output)
        segment = self._joined
        if segment is None or (segment.output, segment.item_id) != (event.output, event.item_id):
            segment, more = self._new_reasoning(event)
            frames += more
        start = fr.ReasoningPartStarted(
            self._event_id,
            segment.id,
            segment.parts,
            segment.number,
            self._at_ms,
            kind,
            event.output,
        )
        part = LivePart(event.part, segment, self._status.thought(event.part))
        segment.parts += 1
        segment.open_parts += 1
        self._cited_parts[event.part] = segment
        return part, [*frames, start]

    def _new_reasoning(self, event: _Start) -> tuple[LiveReasoning, list[UXFrame]]:
        name = segment_id(self._event_id, event.part)
        number, at_ms = len(self._segments), self._at_ms
        segment = LiveReasoning(name, self._step, number, event.output, event.item_id, at_ms, at_ms)
        frames = self._append(segment)
        self._joined = segment
        self._thoughts.append(segment)
        self._unsettled.append(segment)
        return segment, frames

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[UXFrame]:
        """End a reasoning part. The next record tells whether it is complete or was cut off."""
        part = self._parts.pop(event.part)
        self._part_ended(part.segment)
        if self._newest.get(part.output) != part.part:
            return [self._complete_part(part)]
        self._held[part.output] = part
        return []

    def _part_ended(self, segment: LiveReasoning) -> None:
        segment.open_parts -= 1
        segment.ended_ms = self._at_ms

    def _complete_part(self, part: LivePart) -> UXFrame:
        text = "".join(part.pieces) if self._has_final_text else None
        return fr.ReasoningPartCompleted(self._event_id, part.segment_id, part.index, True, text)

    def _meta(self, segment: LiveReasoning, tokens: int | None = None) -> list[UXFrame]:
        duration_ms = None if segment.open_parts else segment.ended_ms - segment.started_ms
        facts = (self._effort, tokens, duration_ms, segment.item_id)
        if not any(fact is not None for fact in facts):
            return []
        return [fr.ReasoningSegmentMeta(self._event_id, segment.id, *facts)]

    # -- text

    def _text(self, event: ev.TextDelta) -> list[UXFrame]:
        text = self._texts[event.part]
        piece = fr.TextPiece(self._event_id, event.text, text.output)
        return [piece] if text.shown is not None else [*self._show_text(text), piece]

    def _text_started(self, event: ev.TextStarted) -> list[UXFrame]:
        frames = self._part_began(event.part, event.output)
        self._joined = None
        segment = text_segment(segment_id(self._event_id, event.part), event)
        text = LiveText(segment, event.output)
        self._texts[event.part] = self._waiting = text
        return frames

    def _show_text(self, text: LiveText) -> list[UXFrame]:
        self._waiting = None
        text.shown = LiveSegment(text.segment.id, self._step)
        return [*self._append(text.shown), fr.SegmentAdded(self._event_id, text.segment)]

    def _text_finished(self, event: ev.TextFinished) -> list[UXFrame]:
        """Drop a text without any characters."""
        if self._waiting is self._texts.get(event.part):
            self._waiting = None
        return []

    # -- tools

    def _call_started(self, event: ev.ToolCallStarted) -> list[UXFrame]:
        frames = self._part_began(event.part, event.output)
        self._joined = None
        call, started = self._tools.start(event, self._event_id, len(self._segments))
        return [*frames, *self._append(call), started]

    def _tool_output(self, event: ev.ToolOutput) -> list[UXFrame]:
        frames = self._part_began(event.part, event.output)
        self._joined = None
        if not self._tools.awaits(event):
            call, started = self._tools.start(event, self._event_id, len(self._segments))
            frames += [*self._append(call), started]
        return [*frames, *self._tools.output(event)]

    # -- other parts, and the turn

    def _media(self, event: ev.MediaProduced) -> list[UXFrame]:
        return self._whole(event, media_segment)

    def _opaque(self, event: ev.OpaqueItem) -> list[UXFrame]:
        return self._whole(event, opaque_segment)

    def _whole(
        self, event: ev.MediaProduced | ev.OpaqueItem, made: Callable[..., Any]
    ) -> list[UXFrame]:
        frames = self._part_began(event.part, event.output)
        self._joined = None
        id = segment_id(self._event_id, event.part)
        segment = made(id, event, len(self._segments), self._at_ms)
        frames += self._append(LiveSegment(id, self._step))
        return [*frames, fr.SegmentAdded(self._event_id, segment)]

    def _citation(self, event: ev.CitationAdded) -> list[UXFrame]:
        citation = without_raw(Citation(**{name: getattr(event, name) for name in _PLACES}))
        if event.part is None:
            self._cited_steps.append(self._step)
            return [fr.CitationFrame(self._event_id, citation)]
        text = self._texts.get(event.part)
        frames = [] if text is None or text.shown is not None else self._show_text(text)
        segment = text.shown if text is not None else self._cited_parts.get(event.part)
        if segment is None:
            return []
        return [*frames, fr.CitationFrame(self._event_id, citation, segment.id)]

    def _forget_turn(self, event: object = None) -> list[UXFrame]:
        self._joined = self._waiting = None
        for of_turn in (self._thoughts, self._unsettled, self._newest, self._held):
            of_turn.clear()
        return []

    def _output_finished(self, event: ev.OutputFinished) -> list[UXFrame]:
        return self._release_status(event.output) if event.reason is not None else []

    def _turn_finished(self, event: ev.TurnFinished) -> list[UXFrame]:
        self._terminal = None if self._is_run else event
        frames = [frame for output in [*self._held] for frame in self._release_status(output)]
        return [*frames, *self._settle_reasoning(event.usage)]

    def _turn_failed(self, event: ev.TurnFailed) -> list[UXFrame]:
        """Treat reasoning parts without an end as cut off."""
        self._terminal = None if self._is_run else event
        return self._settle_reasoning(event.usage)

    def _settle_reasoning(self, usage: Usage) -> list[UXFrame]:
        """Send what the end of a turn tells about its reasoning.

        Token counts are left out if there are several segments, since they cannot be told apart.
        """
        tokens = usage.reasoning_tokens if len(self._thoughts) == 1 else None
        wanted = self._unsettled if tokens is None else self._thoughts
        frames = [frame for segment in wanted for frame in self._meta(segment, tokens)]
        self._unsettled = []
        return frames

    # -- runs and the end

    def _run_started(self, event: ev.RunStarted) -> list[UXFrame]:
        self._is_run = True
        self._effort = event.effort
        return []

    def _step_discarded(self, event: ev.StepDiscarded) -> list[UXFrame]:
        """Take back what was sent of a step, including results of earlier calls."""
        gone = tuple(one.id for one in self._segments if one.step == event.step)
        left = [step for step in self._cited_steps if step != event.step]
        dropped = len(self._cited_steps) - len(left)
        self._segments = [one for one in self._segments if one.step != event.step]
        again = self._tools.discard(event.step)
        self._cited_steps = left
        self._forget_turn()
        self._parts.clear()
        return [fr.StepDiscardedFrame(self._event_id, gone, event.reason, again, dropped)]

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[UXFrame]:
        self._terminal = event
        return []

    def _end(self, closed: ev.RunClosed | None) -> list[UXFrame]:
        self._is_over = True
        frames = [frame for part in [*self._parts] for frame in self._rest(part)]
        frames += self._settle_reasoning(Usage())
        return [*frames, self._last(closed)]

    def _last(self, closed: ev.RunClosed | None) -> fr.EndFrame:
        event = to_event(self._message(), event_id=self._event_id)
        end = ending(self._terminal, closed, "run" if self._is_run else "turn")
        if end.kind == "failed":
            return fr.MessageError(self._event_id, end.message, event)
        if end.kind == "cancelled":
            return fr.MessageCancelled(self._event_id, event)
        return fr.MessageFinal(event)


_Handler: TypeAlias = Callable[[UXProjection, Any], list[UXFrame]]
# pyright: reportPrivateUsage=false
_HANDLERS: dict[type, _Handler] = {
    ev.TurnStarted: UXProjection._forget_turn,
    ev.OutputFinished: UXProjection._output_finished,
    ev.ReasoningStarted: UXProjection._reasoning_started,
    ev.ReasoningFinished: UXProjection._reasoning_finished,
    ev.ReasoningRedacted: UXProjection._reasoning_redacted,
    ev.TextStarted: UXProjection._text_started,
    ev.TextFinished: UXProjection._text_finished,
    ev.ToolCallStarted: UXProjection._call_started,
    ev.ToolOutput: UXProjection._tool_output,
    ev.MediaProduced: UXProjection._media,
    ev.OpaqueItem: UXProjection._opaque,
    ev.CitationAdded: UXProjection._citation,
    ev.TurnFinished: UXProjection._turn_finished,
    ev.TurnFailed: UXProjection._turn_failed,
    ev.RunStarted: UXProjection._run_started,
    ev.StepDiscarded: UXProjection._step_discarded,
    ev.RunFinished: UXProjection._run_ended,
    ev.RunFailed: UXProjection._run_ended,
    ev.RunClosed: UXProjection._end,
}


def create_projection(
    event_id: str | None = None,
    message: Callable[[], Message] | None = None,
    *,
    has_final_text: bool = False,
) -> UXProjection:
    """Create the projection of one run; see `headrace.projections.registry`."""
    return UXProjection(event_id, has_final_text=has_final_text, message=message)

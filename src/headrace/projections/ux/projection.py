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
    segment_id,
    text_segment,
    to_event,
    without_raw,
)
from headrace.projections.ux.frame import UXFrame
from headrace.projections.ux.input import UXInput
from headrace.projections.ux.live_message import LiveMessage
from headrace.projections.ux.live_segment import LiveSegment, LiveText
from headrace.projections.ux.nested_runs import NestedRuns
from headrace.projections.ux.reasoning import UXReasoning
from headrace.projections.ux.tool_calls import UXToolCalls
from headrace.status.answer_text import AnswerText
from headrace.status.reader import StatusReader

_PLACES = ("source", "ref", "title", "quote", "start", "end")


class UXProjection:
    """Turns the records of a run or a turn into ux frames.

    Feed every record; `close()` returns the last frames if no `RunClosed` did. The first frame is
    `message_started`; the last is the only `message_final`, `message_error` or `message_cancelled`,
    and its event equals `to_event()` of the folded records.

    `event_id` is the message's id; by default it is derived from the run's id. All outputs are
    shown. The frames of nested runs are sent inside `nested_frame`, and their messages with the
    results of their calls. `has_final_text` repeats the text of a part when it is complete.
    `message` returns the folded message if the caller folds the same records anyway.
    """

    __slots__ = (
        "_assembler", "_cited_steps", "_folded", "_input", "_is_begun", "_is_over", "_is_run",
        "_message", "_nested", "_reasoning", "_status", "_terminal", "_texts", "_think", "_tools",
        "_waiting",
    )  # fmt: skip

    def __init__(
        self,
        event_id: str | None = None,
        *,
        has_final_text: bool = False,
        message: Callable[[], Message] | None = None,
    ) -> None:
        self._assembler: Assembler | None = None
        if message is None:
            self._assembler = Assembler()
            message = self._assembler.message
        self._folded = message
        self._message = LiveMessage(event_id or "")
        self._status = StatusReader()
        self._reasoning = UXReasoning(self._message, self._status, has_final_text=has_final_text)
        self._think = self._reasoning.feed
        self._nested = NestedRuns(_create_nested)
        self._tools = UXToolCalls(self._message, self._nested)
        self._input = UXInput(self._message)
        self._is_begun = False
        self._is_over = False
        self._is_run = False
        self._terminal: Terminal | None = None
        self._texts: dict[int, LiveText] = {}
        self._waiting: LiveText | None = None
        self._cited_steps: list[int] = []

    def feed(self, record: Record) -> list[UXFrame]:
        """Return the frames of the next record."""
        if record.path:
            return self._feed_nested(record)
        if self._is_over:
            return []
        event = record.event
        self._message.at_ms = record.at_ms
        if self._assembler is not None:
            self._assembler.feed(record)
        kind = type(event)
        if kind is ev.TextDelta:
            return self._text(event)  # type: ignore[arg-type]
        if kind is ev.ReasoningDelta:
            return self._think(event)  # type: ignore[arg-type]
        return self._handle_rare(record)

    def _feed_nested(self, record: Record) -> list[UXFrame]:
        """Show what a sub-agent does, as part of its call. What it asks for is shown as a request
        of this message, which takes the answer."""
        if self._is_over:
            return []
        if self._assembler is not None:
            self._assembler.feed(record)
        self._message.at_ms = record.at_ms
        segment_id = self._tools.segment_id_of(record.path[0])
        frames = self._nested.feed(record, self._message.event_id, segment_id)
        return [*frames, *self._input.feed_nested(record)]

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
        self._message.step = record.step
        # The held-back text is read before the reader of the part is gone.
        rest = self._reasoning.rest(event.part) if isinstance(event, ev.ReasoningFinished) else []
        statuses = [self._status_frame(status) for status in self._status.feed(record)]
        frames += [*rest, *(status for status in statuses if status.source != "tool")]
        handle = _HANDLERS.get(type(event))
        if handle is not None:
            frames += handle(self, event)
        else:
            frames += self._tools.feed(event)
        return [*frames, *(status for status in statuses if status.source == "tool")]

    def _begin(self, first: object) -> list[UXFrame]:
        self._is_begun = True
        message = self._message
        run_id = first.run_id if isinstance(first, ev.RunStarted) else None
        response_id = first.response_id if isinstance(first, ev.TurnStarted) else None
        named = "_".join(filter(None, ("msg", run_id or response_id)))
        message.event_id = message.event_id or named
        message.created_at_ms = message.at_ms
        return [fr.MessageStarted(message.event_id, run_id, message.at_ms)]

    def _status_frame(self, status: ev.StatusChanged) -> fr.Status:
        message = self._message
        return fr.Status(message.event_id, status.text, status.source, message.at_ms)

    # -- parts and segments

    def _part_began(self, part: int, output: int) -> list[UXFrame]:
        """Handle the start of a part: earlier parts are complete and have their place."""
        frames = self._reasoning.release(output, part)
        return frames if self._waiting is None else [*frames, *self._show_text(self._waiting)]

    def _other_part_began(self, part: int, output: int) -> list[UXFrame]:
        """Handle the start of a part that is not reasoning."""
        frames = self._part_began(part, output)
        self._reasoning.interrupt()
        return frames

    def _append(self, segment: LiveSegment) -> list[UXFrame]:
        """Start a segment. Reasoning before it is settled, unless it continues beside it."""
        frames = self._reasoning.settle()
        self._message.segments.append(segment)
        return frames

    # -- reasoning

    def _reasoning_started(self, event: ev.ReasoningStarted) -> list[UXFrame]:
        frames = self._part_began(event.part, event.output)
        return [*frames, *self._reasoning.start(event)]

    def _reasoning_redacted(self, event: ev.ReasoningRedacted) -> list[UXFrame]:
        frames = self._part_began(event.part, event.output)
        return [*frames, *self._reasoning.redact(event)]

    def _reasoning_finished(self, event: ev.ReasoningFinished) -> list[UXFrame]:
        return self._reasoning.finish(event)

    # -- text

    def _text(self, event: ev.TextDelta) -> list[UXFrame]:
        text = self._texts[event.part]
        return self._text_frames(text, text.markers.feed(event.text))

    def _text_frames(self, text: LiveText, content: str) -> list[UXFrame]:
        if not content:
            return []
        piece = fr.TextPiece(self._message.event_id, content, text.output)
        return [piece] if text.shown is not None else [*self._show_text(text), piece]

    def _text_started(self, event: ev.TextStarted) -> list[UXFrame]:
        frames = self._other_part_began(event.part, event.output)
        segment = text_segment(segment_id(self._message.event_id, event.part), event)
        text = LiveText(segment, event.output)
        self._texts[event.part] = self._waiting = text
        return frames

    def _show_text(self, text: LiveText) -> list[UXFrame]:
        self._waiting = None
        message = self._message
        number = len(message.segments)
        text.shown = LiveSegment(text.segment.id, message.step)
        frames = self._append(text.shown)
        return [*frames, fr.SegmentAdded(message.event_id, text.segment, number)]

    def _text_finished(self, event: ev.TextFinished) -> list[UXFrame]:
        """Send what was held back, and drop a text without any characters."""
        text = self._texts[event.part]
        frames = self._text_frames(text, text.markers.close())
        self._message.note_activity(text.output)
        if self._waiting is text:
            self._waiting = None
        return frames

    def _restore_part(self, event: ev.PartRestored) -> list[UXFrame]:
        """Replace a text or a reasoning part. The arguments of a call are sent when it ends."""
        part = self._reasoning.find(event.part)
        if part is not None:
            return self._reasoning.restore(part, event.text)
        text = self._texts.get(event.part)
        if text is None:
            return []
        text.markers = AnswerText()
        content = text.markers.feed(event.text)
        if text.shown is None:
            return self._text_frames(text, content)
        return [fr.PartRestoredFrame(self._message.event_id, text.segment.id, content)]

    # -- tools

    def _call_started(self, event: ev.ToolCallStarted) -> list[UXFrame]:
        frames = self._other_part_began(event.part, event.output)
        self._message.note_activity(event.output)
        return [*frames, *self._start_call(event)]

    def _tool_output(self, event: ev.ToolOutput) -> list[UXFrame]:
        frames = self._other_part_began(event.part, event.output)
        self._message.note_activity(event.output)
        if not self._tools.awaits(event):
            frames += self._start_call(event)
        return [*frames, *self._tools.output(event)]

    def _start_call(self, event: ev.ToolCallStarted | ev.ToolOutput) -> list[UXFrame]:
        call, started = self._tools.start(event)
        return [*self._append(call), started]

    # -- other parts, and the turn

    def _media(self, event: ev.MediaProduced) -> list[UXFrame]:
        return self._whole(event, media_segment)

    def _opaque(self, event: ev.OpaqueItem) -> list[UXFrame]:
        return self._whole(event, opaque_segment)

    def _whole(
        self, event: ev.MediaProduced | ev.OpaqueItem, build: Callable[..., Any]
    ) -> list[UXFrame]:
        frames = self._other_part_began(event.part, event.output)
        message = self._message
        message.note_activity(event.output)
        id, number = segment_id(message.event_id, event.part), len(message.segments)
        segment = build(id, event, number, message.at_ms)
        frames += self._append(LiveSegment(id, message.step))
        return [*frames, fr.SegmentAdded(message.event_id, segment, number)]

    def _citation(self, event: ev.CitationAdded) -> list[UXFrame]:
        event_id = self._message.event_id
        citation = without_raw(Citation(**{name: getattr(event, name) for name in _PLACES}))
        if event.part is None:
            self._cited_steps.append(self._message.step)
            return [fr.CitationFrame(event_id, citation)]
        text = self._texts.get(event.part)
        # A text that has ended without a character is not shown, so neither is its source.
        frames = [] if text is None or text is not self._waiting else self._show_text(text)
        of_part = self._reasoning.segment_of_part
        segment = text.shown if text is not None else of_part.get(event.part)
        if segment is None:
            return []
        return [*frames, fr.CitationFrame(event_id, citation, segment.id)]

    def _forget_turn(self, event: object = None) -> list[UXFrame]:
        self._waiting = None
        self._reasoning.forget_turn()
        return []

    def _output_finished(self, event: ev.OutputFinished) -> list[UXFrame]:
        return self._reasoning.release(event.output) if event.reason is not None else []

    def _turn_finished(self, event: ev.TurnFinished) -> list[UXFrame]:
        self._terminal = None if self._is_run else event
        return [*self._reasoning.release_all(), *self._reasoning.end_turn(event.usage)]

    def _turn_failed(self, event: ev.TurnFailed) -> list[UXFrame]:
        """Treat reasoning parts without an end as cut off."""
        self._terminal = None if self._is_run else event
        return self._reasoning.end_turn(event.usage)

    # -- input

    def _input_event(self, event: object) -> list[UXFrame]:
        return [*self._input.feed(event), *self._tools.feed(event)]

    def _user_message(self, event: ev.UserMessageAdded) -> list[UXFrame]:
        segment, added = self._input.add_message(event)
        return [*self._append(segment), added]

    # -- runs and the end

    def _run_started(self, event: ev.RunStarted) -> list[UXFrame]:
        self._is_run = True
        self._input.run_id = event.run_id
        self._message.effort = event.effort
        return []

    def _step_discarded(self, event: ev.StepDiscarded) -> list[UXFrame]:
        """Take back what was sent of a step, including results of earlier calls."""
        left = [step for step in self._cited_steps if step != event.step]
        dropped = len(self._cited_steps) - len(left)
        self._cited_steps = left
        gone = self._message.discard(event.step)
        again = self._tools.discard(event.step)
        self._waiting = None
        self._reasoning.discard()
        event_id = self._message.event_id
        return [fr.StepDiscardedFrame(event_id, gone, event.reason, again, dropped)]

    def _run_ended(self, event: ev.RunFinished | ev.RunFailed) -> list[UXFrame]:
        self._terminal = event
        return []

    def _end(self, closed: ev.RunClosed | None) -> list[UXFrame]:
        self._is_over = True
        # Texts are open here only if the records broke off.
        held = [
            frame
            for text in self._texts.values()
            for frame in self._text_frames(text, text.markers.close())
        ]
        return [*held, *self._reasoning.close(), self._last(closed)]

    def _last(self, closed: ev.RunClosed | None) -> fr.EndFrame:
        event_id = self._message.event_id
        event = to_event(self._folded(), event_id=event_id)
        end = ending(self._terminal, closed, "run" if self._is_run else "turn")
        if end.kind == "failed":
            return fr.MessageError(event_id, end.message, event)
        if end.kind == "cancelled":
            return fr.MessageCancelled(event_id, event)
        return fr.MessageFinal(event)


def _create_nested(segment_id: str, message: Callable[[], Message]) -> UXProjection:
    """Create the projection of a sub-agent. Its message has the id of the call's segment."""
    return UXProjection(segment_id, message=message)


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
    ev.PartRestored: UXProjection._restore_part,
    ev.ToolCallStarted: UXProjection._call_started,
    ev.ToolOutput: UXProjection._tool_output,
    ev.MediaProduced: UXProjection._media,
    ev.OpaqueItem: UXProjection._opaque,
    ev.CitationAdded: UXProjection._citation,
    ev.TurnFinished: UXProjection._turn_finished,
    ev.TurnFailed: UXProjection._turn_failed,
    ev.RunStarted: UXProjection._run_started,
    ev.InputRequested: UXProjection._input_event,
    ev.InputAnswered: UXProjection._input_event,
    ev.RunSuspended: UXProjection._input_event,
    ev.UserMessageAdded: UXProjection._user_message,
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

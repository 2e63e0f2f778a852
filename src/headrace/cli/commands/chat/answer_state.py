"""The state of a growing answer: turns ux frames into display events."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from headrace.cli.commands.chat.step import Other, Step, Thought, Tool, stored_steps, tool_name
from headrace.cli.terminal.safe_text import one_line, safe
from headrace.projections.ux import UXFrame, frame_type
from headrace.projections.ux import frame as fr
from headrace.projections.ux.segment import MediaSegment, OpaqueSegment

_GAP = "A piece of the text above was missing. The whole text again:"
_TOOL_FRAME = re.compile(r"(\w+)_started")


class Thinks(NamedTuple):
    """More reasoning text."""

    text: str


class Used(NamedTuple):
    """A tool has ended."""

    tool: Tool


class Folded(NamedTuple):
    """The steps are over; content or nothing follows."""

    steps: list[Step]


class Says(NamedTuple):
    """More text."""

    text: str


class Paused(NamedTuple):
    """The text is over; steps or another text follow."""


class Made(NamedTuple):
    """Something arrived whole, such as an image."""

    words: str


class TakenBack(NamedTuple):
    """A step is discarded and tried again."""

    has_text: bool


class Ended(NamedTuple):
    """The last display event."""

    frame: fr.EndFrame


DisplayEvent: TypeAlias = Thinks | Used | Folded | Says | Paused | Made | TakenBack | Ended


class AnswerState:
    """Turns frames into display events. Feed every frame.

    `steps` are those that no content has followed yet.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.status = ""
        self._calls: dict[str, Tool] = {}
        self._nested: dict[str, AnswerState] = {}
        self._text_id = ""
        self._texts: dict[int, str] = {}

    def feed(self, frame: UXFrame) -> list[DisplayEvent]:
        """Return the display events of a frame. Frames about unknown segments change nothing."""
        match frame:
            case fr.TextPiece():
                return self._text(frame)
            case fr.ReasoningPartDelta():
                return self._thought_delta(frame)
            case fr.ToolCallStarted():
                return self._call(frame)
            case fr.ToolCallUpdate():
                return self._update(frame)
            case fr.ToolResultFrame():
                return self._result(frame)
            case fr.MessageFinal() | fr.MessageError() | fr.MessageCancelled():
                return [*self._over(), Ended(frame)]
            case _:
                return self._handle_rare(frame)

    def _handle_rare(self, frame: UXFrame) -> list[DisplayEvent]:
        match frame:
            case fr.ReasoningPartStarted():
                return self._thought(frame)
            case fr.ReasoningSegmentMeta():
                if (thought := self._find(frame.segment_id)) is not None:
                    thought.duration_ms = frame.duration_ms
            case fr.Status():
                self.status = one_line(frame.text)
            case fr.SegmentAdded():
                return self._add_segment(frame)
            case fr.StepDiscardedFrame():
                return self._discard(frame)
            case fr.NestedFrame():
                self._feed_nested(frame)
            case fr.PartRestoredFrame(summary_index=None):
                return [Paused(), Made(_GAP), Says(safe(frame.text))]
            case _:
                pass
        return []

    # -- text

    def _text(self, frame: fr.TextPiece) -> list[DisplayEvent]:
        cues: list[DisplayEvent] = self._fold()
        text_id = self._texts.get(frame.output_index, "text")
        if self._text_id and self._text_id != text_id:
            cues.append(Paused())
        self._text_id = text_id
        return [*cues, Says(safe(frame.text_delta))]

    def _add_segment(self, frame: fr.SegmentAdded) -> list[DisplayEvent]:
        segment = frame.segment
        if isinstance(segment, OpaqueSegment):
            return self._begin(Other(segment.id, one_line(segment.kind)))
        if isinstance(segment, MediaSegment):
            is_inline = segment.url.startswith("data:")
            where = "it is kept with the conversation" if is_inline else one_line(segment.url)
            return [*self._over(), Made(f"{one_line(segment.media_type)}: {where}")]
        self._texts[segment.output_index] = segment.id
        return []

    def _over(self) -> list[DisplayEvent]:
        return [*self._pause(), *self._fold()]

    def _pause(self) -> list[DisplayEvent]:
        text_id, self._text_id = self._text_id, ""
        return [Paused()] if text_id else []

    def _fold(self) -> list[DisplayEvent]:
        steps, self.steps = self.steps, []
        return [Folded(steps)] if steps else []

    # -- steps

    def _begin(self, step: Step) -> list[DisplayEvent]:
        self.steps.append(step)
        return self._pause()

    def _find(self, segment_id: str) -> Thought | None:
        step = next((step for step in reversed(self.steps) if step.id == segment_id), None)
        return step if isinstance(step, Thought) else None

    def _thought(self, frame: fr.ReasoningPartStarted) -> list[DisplayEvent]:
        thought, cues = self._find(frame.segment_id), list[DisplayEvent]()
        if thought is None:
            thought = Thought(frame.segment_id)
            cues = self._begin(thought)
        thought.begin(frame.summary_index, is_redacted=frame.part_type == "redacted")
        return cues

    def _thought_delta(self, frame: fr.ReasoningPartDelta) -> list[DisplayEvent]:
        thought, text = self._find(frame.segment_id), safe(frame.text_delta)
        if thought is None:
            return []
        thought.add(frame.summary_index, text)
        return [Thinks(text)]

    def _call(self, frame: fr.ToolCallStarted) -> list[DisplayEvent]:
        kind = _TOOL_FRAME.sub(r"\1", frame_type(frame))
        tool = Tool(frame.segment_id, tool_name(kind, one_line(frame.name)))
        self._calls[frame.call_id] = tool
        return self._begin(tool)

    def _update(self, frame: fr.ToolCallUpdate) -> list[DisplayEvent]:
        tool = self._calls.get(frame.call_id)
        if tool is None:
            return []
        tool.status = one_line(frame.status)
        tool.args_text += frame.args_delta or ""
        tool.logs = (tool.logs + safe(frame.logs_delta or ""))[-2_000:]
        tool.args = frame.args if frame.args is not None else tool.args
        tool.progress = frame.progress if frame.progress is not None else tool.progress
        return []

    def _feed_nested(self, frame: fr.NestedFrame) -> None:
        """Show what a sub-agent does as part of its call."""
        tool = self._calls.get(frame.parent_call_id)
        if tool is None:
            return
        state = self._nested.get(tool.id)
        if state is None or isinstance(frame.frame, fr.MessageStarted):
            state = self._nested[tool.id] = AnswerState()
            tool.steps = []
        earlier = [step for step in tool.steps if step not in state.steps]
        for event in state.feed(frame.frame):
            if isinstance(event, Folded):
                earlier += event.steps
        gone = frame.frame.segment_ids if isinstance(frame.frame, fr.StepDiscardedFrame) else ()
        tool.steps = [step for step in [*earlier, *state.steps] if step.id not in gone]

    def _result(self, frame: fr.ToolResultFrame) -> list[DisplayEvent]:
        tool = self._calls.get(frame.call_id)
        if tool is None:
            return []
        tool.result, tool.error, tool.duration_ms = frame.result, frame.error, frame.duration_ms
        tool.state = "completed" if frame.error is None else "failed"
        if frame.event is not None:
            tool.steps = stored_steps(frame.event.segments)
        return [Used(tool)]

    def _discard(self, frame: fr.StepDiscardedFrame) -> list[DisplayEvent]:
        gone = set(frame.segment_ids)
        self.steps = [step for step in self.steps if step.id not in gone]
        for tool in self._calls.values():
            if tool.id in frame.unanswered_ids:
                tool.state, tool.result, tool.error = "running", None, None
        has_text = any(text_id in gone for text_id in self._texts.values())
        return [*self._over(), TakenBack(has_text)] if has_text else []

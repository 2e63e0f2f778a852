"""What the projection keeps of the segments that it has sent: numbers, but no text."""

from __future__ import annotations

import msgspec

from headrace.projections.ux.segment import TextSegment
from headrace.status.answer_text import AnswerText
from headrace.status.marker import MarkerReader
from headrace.status.reasoning_reader import ReasoningReader


class LiveSegment(msgspec.Struct, eq=False):
    """A segment that was sent, and the step it belongs to."""

    id: str
    step: int


class LiveReasoning(LiveSegment, eq=False):
    """A reasoning segment: its position and progress."""

    number: int
    output: int
    item_id: str | None
    started_ms: int
    ended_ms: int
    parts: int = 0
    open_parts: int = 0


class LivePart:
    """A reasoning part. `thought` is set if its text may contain status phrases."""

    __slots__ = ("index", "markers", "output", "part", "pieces", "segment", "segment_id", "thought")

    def __init__(self, part: int, segment: LiveReasoning, thought: ReasoningReader | None) -> None:
        self.part = part
        self.output = segment.output
        self.segment = segment
        self.segment_id = segment.id
        self.index = segment.parts
        self.thought = thought
        self.markers = MarkerReader()
        self.pieces: list[str] = []

    def rest(self) -> str:
        """Return held-back text that turned out not to be a marker."""
        return self.markers.close() if self.thought is None else self.thought.rest()

    def restart(self) -> None:
        """Begin the text anew, because it is replaced."""
        self.thought = None
        self.markers = MarkerReader()


class LiveText(msgspec.Struct, eq=False):
    """A text, which is sent with its first characters."""

    segment: TextSegment
    output: int
    shown: LiveSegment | None = None
    markers: AnswerText = msgspec.field(default_factory=AnswerText)

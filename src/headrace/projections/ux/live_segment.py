"""What the projection keeps of the segments that it has sent: numbers, but no text."""

from __future__ import annotations

from headrace.projections.ux.segment import TextSegment
from headrace.status.marker import MarkerReader
from headrace.status.reasoning_reader import ReasoningReader


class LiveSegment:
    """A segment that was sent, and the step it belongs to."""

    __slots__ = ("id", "step")

    def __init__(self, segment_id: str, step: int) -> None:
        self.id = segment_id
        self.step = step


class LiveReasoning(LiveSegment):
    """A reasoning segment: its position and progress."""

    __slots__ = ("ended_ms", "item_id", "number", "open_parts", "output", "parts", "started_ms")

    def __init__(self, segment_id: str, step: int, number: int, at_ms: int) -> None:
        super().__init__(segment_id, step)
        self.number = number
        self.output = 0
        self.item_id: str | None = None
        self.parts = 0
        self.open_parts = 0
        self.started_ms = at_ms
        self.ended_ms = at_ms


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


class LiveText:
    """A text, which is sent with its first characters."""

    __slots__ = ("output", "segment", "shown")

    def __init__(self, segment: TextSegment) -> None:
        self.segment = segment
        self.output = segment.output_index
        self.shown: LiveSegment | None = None

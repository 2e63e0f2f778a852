"""Segments under construction. They are numbered at the end, when it is known which remain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from headrace.events import APPROVAL_REQUESTED
from headrace.messages import Citation
from headrace.projections.tool_value import ToolValue
from headrace.projections.ux import segment as sg

WholeSegment: TypeAlias = sg.MediaSegment | sg.OpaqueSegment | sg.UserMessageSegment
_ENDS: dict[str, sg.ToolStatus] = {
    "completed": "completed",
    "failed": "failed",
    "incomplete": "incomplete",
    APPROVAL_REQUESTED: APPROVAL_REQUESTED,
}


class EntryDraft:
    """A reasoning part under construction."""

    __slots__ = ("created_at", "is_complete", "kind", "pieces")

    def __init__(self, kind: sg.PartType, created_at: int, *, is_complete: bool = False) -> None:
        self.kind: sg.PartType = kind
        self.created_at = created_at
        self.is_complete = is_complete
        self.pieces: list[str] = []

    def entry(self, summary_index: int, number: int) -> sg.ReasoningEntry:
        return sg.ReasoningEntry(
            text="".join(self.pieces),
            type=self.kind,
            created_at=self.created_at,
            is_complete=self.is_complete,
            summary_index=summary_index,
            sequence_number=number,
        )


class ReasoningDraft:
    """A reasoning segment under construction; `facts` are its optional fields."""

    __slots__ = ("citations", "entries", "facts", "id", "output_index")

    def __init__(self, segment_id: str, output_index: int) -> None:
        self.id = segment_id
        self.output_index = output_index
        self.entries: list[EntryDraft] = []
        self.citations: list[Citation] = []
        self.facts: dict[str, Any] = {}

    @property
    def item_id(self) -> str | None:
        return self.facts.get("provider_item_id")

    def segment(self, number: int, first_part: int) -> sg.ReasoningSegment:
        parts = tuple(
            draft.entry(place, first_part + place) for place, draft in enumerate(self.entries)
        )
        return sg.ReasoningSegment(
            id=self.id,
            parts=parts,
            streaming=False,
            output_index=self.output_index,
            combined_text="\n\n".join(part.text for part in parts if part.text),
            sequence_number=number,
            citations=tuple(self.citations),
            **self.facts,
        )


class TextDraft:
    """A text segment under construction; an empty one is not shown."""

    __slots__ = ("begun", "citations", "id", "pieces")

    def __init__(self, segment: sg.TextSegment) -> None:
        self.id = segment.id
        self.begun = segment
        self.pieces: list[str] = [segment.text] if segment.text else []
        self.citations: list[Citation] = []

    def segment(self, number: int, first_part: int) -> sg.TextSegment:
        citations = tuple(self.citations)
        return replace(self.begun, text="".join(self.pieces), citations=citations)


class _Answer(msgspec.Struct, frozen=True):
    said: ToolValue
    step: int
    kind: str | None
    duration_ms: int | None
    event: sg.MessageEvent | None


class ToolDraft:
    """A tool segment under construction; `fields` are those that are known at its start.

    Status reports count only for provider-run tools; client tools get a result.
    """

    __slots__ = (
        "_answer", "_begun", "_told", "call_id", "created_at", "id", "is_malformed", "step",
    )  # fmt: skip

    def __init__(self, kind: type[sg.ToolSegment], step: int = 0, **fields: Any) -> None:
        begun = kind(result=None, status="incomplete", sequence_number=0, **fields)
        self.id = begun.id
        self.call_id = begun.call_id
        self.created_at = begun.created_at
        self.step = step
        self.is_malformed = False
        self._begun = begun
        self._told: sg.ToolStatus = "incomplete"
        self._answer: _Answer | None = None

    def takes(self, step: int) -> bool:
        """Return whether an output in this step, or a later one if it is open, is for this call."""
        return step == self.step or self._answer is None or self._answer.step == step

    @property
    def awaits_approval(self) -> bool:
        return self._told == APPROVAL_REQUESTED

    @property
    def has_result(self) -> bool:
        return self._answer is not None and not self.is_malformed

    def write(self, args: Any) -> None:
        self._begun = replace(self._begun, args=args)

    def tell(self, status: str) -> None:
        if self._begun.executor == "provider":
            self._told = _ENDS.get(status, "incomplete")

    def answer(
        self,
        said: ToolValue,
        kind: str | None,
        duration_ms: int | None,
        step: int = 0,
        event: sg.MessageEvent | None = None,
    ) -> None:
        self.is_malformed = False
        self._answer = _Answer(said, step, kind, duration_ms, event)

    def take_back(self) -> None:
        """Remove the result, because the step that brought it was discarded."""
        self._answer = None

    def segment(self, number: int, first_part: int) -> sg.ToolSegment:
        answer = self._answer
        if answer is None:
            return replace(self._begun, sequence_number=number, status=self._told)
        return replace(
            self._begun,
            sequence_number=number,
            result=answer.said.result,
            error=answer.said.error,
            status="completed" if answer.said.error is None else "failed",
            kind=answer.kind,
            duration_ms=answer.duration_ms,
            event=answer.event,
        )


class WholeDraft:
    """A segment that arrived whole."""

    __slots__ = ("begun", "id")

    def __init__(self, segment: WholeSegment) -> None:
        self.id = segment.id
        self.begun = segment

    def segment(self, number: int, first_part: int) -> WholeSegment:
        return replace(self.begun, sequence_number=number)


Draft: TypeAlias = ReasoningDraft | TextDraft | ToolDraft | WholeDraft


def segments(drafts: Iterable[Draft]) -> tuple[sg.Segment, ...]:
    """Return the segments that remain, numbered: all but empty texts."""
    made: list[sg.Segment] = []
    parts = 0
    for draft in drafts:
        if isinstance(draft, TextDraft) and not draft.pieces:
            continue
        made.append(draft.segment(len(made), parts))
        parts += len(draft.entries) if isinstance(draft, ReasoningDraft) else 0
    return tuple(made)

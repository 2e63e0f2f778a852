"""Rebuilds the stored answer (`MessageEvent`) from ux frames, as a client does."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from headrace.messages import Citation
from headrace.outcome import ErrorInfo, FinishReason
from headrace.projections.tool_value import ToolValue
from headrace.projections.ux import frame as fr
from headrace.projections.ux import segment_builder as sb
from headrace.projections.ux.event import sort_requests
from headrace.projections.ux.segment import (
    MessageEvent,
    RequestEntry,
    TextSegment,
    UserMessageSegment,
)
from headrace.projections.ux.tool_kind import KIND_OF_FRAME
from headrace.usage import Usage


def fold_frames(frames: Iterable[fr.UXFrame]) -> MessageEvent:
    """Return the event that the frames describe, finished or not.

    Segments come from the stream; the outcome, usage, duration and requests for input come from
    the last frame, if it is there.
    """
    reader = FrameFold()
    for frame in frames:
        reader.feed(frame)
    return reader.event()


class FrameFold:
    """Folds frames one by one; the event is available at any moment.

    `sequence_number` orders the segments, whatever order their frames arrive in.
    """

    def __init__(self) -> None:
        self._id = ""
        self._run_id: str | None = None
        self._created_at = 0
        self._drafts: list[sb.Draft] = []
        self._numbers: dict[str, int] = {}
        self._by_id: dict[str, sb.Draft] = {}
        self._texts: dict[int, sb.TextDraft] = {}
        self._calls: dict[str, sb.ToolDraft] = {}
        self._citations: list[Citation] = []
        self._requests: dict[str, RequestEntry] = {}
        self._usage: Usage | None = None
        self._finish: FinishReason | None = None
        self._error: ErrorInfo | None = None
        self._duration_ms: int | None = None
        self._warning: str | None = None
        self._model: str | None = None

    def feed(self, frame: fr.UXFrame) -> None:
        """Apply the next frame. Frames that do not change the event are ignored."""
        take = _TAKES.get(type(frame))
        if take is not None:
            take(self, frame)

    def event(self) -> MessageEvent:
        """Return the event so far."""
        return MessageEvent(
            id=self._id,
            role="assistant",
            run_id=self._run_id,
            created_at=self._created_at,
            segments=sb.segments(self._drafts),
            usage=self._usage,
            finish=self._finish,
            error=self._error,
            citations=tuple(self._citations),
            duration_ms=self._duration_ms,
            requests=sort_requests(self._requests.values()),
            warning=self._warning,
            model=self._model,
        )

    def _add(self, draft: sb.Draft, number: int) -> None:
        self._numbers[draft.id] = number
        insort(self._drafts, draft, key=lambda one: self._numbers[one.id])
        self._by_id[draft.id] = draft

    def _on_started(self, frame: fr.MessageStarted) -> None:
        self._id, self._run_id = frame.event_id, frame.run_id
        self._created_at = frame.created_at

    # -- reasoning and text

    def _reasoning(self, segment_id: str) -> sb.ReasoningDraft:
        draft = self._by_id[segment_id]
        assert isinstance(draft, sb.ReasoningDraft)
        return draft

    def _part_started(self, frame: fr.ReasoningPartStarted) -> None:
        if frame.segment_id not in self._by_id:
            draft = sb.ReasoningDraft(frame.segment_id, frame.output_index)
            self._add(draft, frame.sequence_number)
        entry = sb.EntryDraft(frame.part_type, frame.created_at)
        self._reasoning(frame.segment_id).entries.append(entry)

    def _part_delta(self, frame: fr.ReasoningPartDelta) -> None:
        entries = self._reasoning(frame.segment_id).entries
        entries[frame.summary_index].pieces.append(frame.text_delta)

    def _part_completed(self, frame: fr.ReasoningPartCompleted) -> None:
        self._reasoning(frame.segment_id).entries[frame.summary_index].is_complete = True

    def _meta(self, frame: fr.ReasoningSegmentMeta) -> None:
        facts = self._reasoning(frame.segment_id).facts
        for name in ("effort_level", "reasoning_tokens", "duration_ms", "provider_item_id"):
            facts[name] = getattr(frame, name)

    def _segment_added(self, frame: fr.SegmentAdded) -> None:
        segment = frame.segment
        if isinstance(segment, TextSegment):
            draft = self._texts[segment.output_index] = sb.TextDraft(segment)
            self._add(draft, frame.sequence_number)
        else:
            self._add(sb.WholeDraft(segment), frame.sequence_number)

    def _text(self, frame: fr.TextPiece) -> None:
        self._texts[frame.output_index].pieces.append(frame.text_delta)

    def _restore_part(self, frame: fr.PartRestoredFrame) -> None:
        draft: Any = self._by_id[frame.segment_id]
        index = frame.summary_index
        (draft if index is None else draft.entries[index]).pieces[:] = [frame.text]

    def _citation(self, frame: fr.CitationFrame) -> None:
        if frame.segment_id is None:
            self._citations.append(frame.citation)
            return
        draft = self._by_id[frame.segment_id]
        assert isinstance(draft, sb.ReasoningDraft | sb.TextDraft)
        draft.citations.append(frame.citation)

    # -- tools

    def _call_started(self, frame: fr.ToolCallStarted) -> None:
        draft = sb.ToolDraft(
            KIND_OF_FRAME[type(frame)].segment,
            id=frame.segment_id,
            call_id=frame.call_id,
            name=frame.name,
            args=None,
            created_at=frame.created_at,
            executor=frame.executor,
            output_index=frame.output_index,
            provider_item_id=frame.provider_item_id,
        )
        self._add(draft, frame.sequence_number)
        self._calls[frame.call_id] = draft

    def _call_update(self, frame: fr.ToolCallUpdate) -> None:
        draft = self._calls[frame.call_id]
        if frame.args is not None:
            draft.write(frame.args)
        if frame.args_delta is None and frame.args is None:
            draft.tell(frame.status)

    def _result(self, frame: fr.ToolResultFrame) -> None:
        said = ToolValue(frame.result, frame.error)
        draft = self._calls[frame.call_id]
        draft.answer(said, frame.kind, frame.duration_ms, event=frame.event)

    # -- input

    def _add_request(self, frame: fr.InputRequestedFrame) -> None:
        self._requests[frame.request_id] = RequestEntry(
            **{name: getattr(frame, name) for name in _REQUEST_FIELDS}
        )

    def _add_answer(self, frame: fr.InputAnsweredFrame) -> None:
        asked = self._requests.get(frame.request_id)
        if asked is not None:
            answer = {name: getattr(frame, name) for name in _ANSWER_FIELDS}
            self._requests[frame.request_id] = replace(asked, **answer)

    def _add_user_message(self, frame: fr.UserMessageAddedFrame) -> None:
        segment = UserMessageSegment(
            id=frame.segment_id,
            text=frame.text,
            sequence_number=frame.sequence_number,
            created_at=frame.created_at,
            said_at=frame.said_at,
        )
        self._add(sb.WholeDraft(segment), frame.sequence_number)

    # -- steps and the end

    def _on_discarded(self, frame: fr.StepDiscardedFrame) -> None:
        gone = set(frame.segment_ids)
        calls = {d.call_id for d in self._drafts if d.id in gone and isinstance(d, sb.ToolDraft)}
        self._requests = {
            id: asked
            for id, asked in self._requests.items()
            if (asked.parent_call_id or asked.call_id) not in calls
        }
        self._drafts = [draft for draft in self._drafts if draft.id not in gone]
        self._by_id = {draft.id: draft for draft in self._drafts}
        self._calls = {d.call_id: d for d in self._drafts if isinstance(d, sb.ToolDraft)}
        for draft in self._drafts:
            if isinstance(draft, sb.ToolDraft) and draft.id in frame.unanswered_ids:
                draft.take_back()
        del self._citations[len(self._citations) - frame.dropped_citations :]

    def _on_ended(self, frame: fr.EndFrame) -> None:
        event = frame.event
        self._usage, self._finish, self._error = event.usage, event.finish, event.error
        self._duration_ms, self._warning = event.duration_ms, event.warning
        self._model = event.model
        self._requests = {asked.request_id: asked for asked in event.requests}


_REQUEST_FIELDS = (
    "request_id",
    "kind",
    "call_id",
    "name",
    "created_at",
    "args",
    "message",
    "schema",
    "expires_at",
    "parent_call_id",
    "server",
)
_ANSWER_FIELDS = ("decision", "value", "is_always", "reason", "by")


_Take = Callable[[FrameFold, Any], None]
# pyright: reportPrivateUsage=false
_TAKES: dict[type, _Take] = {
    fr.TextPiece: FrameFold._text,
    fr.ReasoningPartDelta: FrameFold._part_delta,
    fr.MessageStarted: FrameFold._on_started,
    fr.ReasoningPartStarted: FrameFold._part_started,
    fr.ReasoningPartCompleted: FrameFold._part_completed,
    fr.ReasoningSegmentMeta: FrameFold._meta,
    fr.SegmentAdded: FrameFold._segment_added,
    fr.CitationFrame: FrameFold._citation,
    fr.PartRestoredFrame: FrameFold._restore_part,
    fr.InputRequestedFrame: FrameFold._add_request,
    fr.InputAnsweredFrame: FrameFold._add_answer,
    fr.UserMessageAddedFrame: FrameFold._add_user_message,
    fr.StepDiscardedFrame: FrameFold._on_discarded,
    **dict.fromkeys((fr.MessageFinal, fr.MessageError, fr.MessageCancelled), FrameFold._on_ended),
    **{kind.started: FrameFold._call_started for kind in KIND_OF_FRAME.values()},
    **{kind.update: FrameFold._call_update for kind in KIND_OF_FRAME.values()},
    **{kind.result: FrameFold._result for kind in KIND_OF_FRAME.values()},
}

"""Turns a message into its canonical event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from headrace import messages
from headrace.content import data_url
from headrace.errors import UsageError
from headrace.messages import CallPart, Citation, Message, OutputPart, ReasoningPart, RedactedPart
from headrace.projections.input_frame import prompt_text
from headrace.projections.tool_value import ToolValue, tool_value
from headrace.projections.ux import segment_builder as sb
from headrace.projections.ux.segment import (
    MediaSegment,
    MessageEvent,
    OpaqueSegment,
    PartType,
    RequestEntry,
    TextSegment,
    UserMessageSegment,
)
from headrace.projections.ux.tool_kind import ANY_TOOL, ToolKind, kind_of
from headrace.status.answer_text import remove_markers


def to_event(message: Message, *, event_id: str) -> MessageEvent:
    """Return the canonical event of an assistant message, equal to what its frames fold to.

    A message that is not over has neither `finish` nor `error`.
    """
    if message.role != "assistant":
        raise UsageError(f"expected an assistant message, not a message of the {message.role}")
    composer = _Composer(event_id, message)
    for turn in message.turns:
        composer.add(turn)
    return MessageEvent(
        id=event_id,
        role="assistant",
        run_id=message.run_id,
        created_at=message.created_at_ms,
        segments=sb.segments(composer.drafts),
        usage=message.usage if message.usage.is_known else None,
        finish=message.finish,
        error=message.error,
        citations=tuple(without_raw(one) for turn in message.turns for one in turn.citations),
        duration_ms=_duration_ms(message),
        requests=sort_requests(_requests(message)),
        warning=message.warning,
        model=next((turn.model for turn in reversed(message.turns) if turn.model), None),
    )


def _requests(message: Message, parent_call_id: str | None = None) -> Iterator[RequestEntry]:
    """Iterate over the requests for input of a message and of its sub-agents."""
    for turn in message.turns:
        for asked in turn.requests:
            yield _request_entry(asked, parent_call_id)
        for result in turn.results:
            if result.message is not None:
                yield from _requests(result.message, parent_call_id or result.call_id)


def _request_entry(asked: messages.InputRequest, parent_call_id: str | None) -> RequestEntry:
    return RequestEntry(
        request_id=asked.request_id,
        kind=asked.kind,
        call_id=asked.call_id,
        name=asked.name,
        created_at=asked.asked_ms,
        args=asked.args,
        message=asked.message,
        schema=asked.schema,
        expires_at=asked.expires_at_ms,
        parent_call_id=parent_call_id,
        server=asked.server,
        decision=asked.decision,
        value=asked.value,
        is_always=asked.is_always,
        reason=asked.reason,
        by=asked.by,
    )


def sort_requests(requests: Iterable[RequestEntry]) -> tuple[RequestEntry, ...]:
    """Return requests in the order of their times. Those of one moment are ordered by id, because
    a stored message does not tell the order of requests of several sub-agents."""
    return tuple(sorted(requests, key=lambda asked: (asked.created_at, asked.request_id)))


def _duration_ms(message: Message) -> int | None:
    """Return the time from the start of the message to the last end of a part or tool."""
    timed = (one for turn in message.turns for one in (*turn.parts, *turn.results))
    ends = [one.ended_ms for one in timed if one.ended_ms is not None]
    return max(ends) - message.created_at_ms if ends else None


def segment_id(event_id: str, part: int) -> str:
    """Return the id of a segment. Part numbers are unique within a run, and so are these."""
    return f"{event_id}-{part}"


def user_message_id(event_id: str, number: int) -> str:
    """Return the id of the segment of what the user said, counted from 0 in the message."""
    return f"{event_id}-user-{number}"


def part_type(kind: str) -> PartType:
    """Return the protocol's name for a kind of reasoning."""
    return "summary_text" if kind == "summary" else "reasoning_text"


def without_raw(citation: Citation) -> Citation:
    """Return a citation without the provider's own object."""
    return replace(citation, raw=None) if citation.raw is not None else citation


class _Composer:
    """Builds segments from the turns of a message, one turn after the other."""

    def __init__(self, event_id: str, message: Message) -> None:
        self.drafts: list[sb.Draft] = []
        self._event_id = event_id
        self._effort = message.effort
        # The last activity before this turn, and in this turn by output.
        self._before_ms = message.created_at_ms
        self._active_ms: dict[int, int] = {}
        self._step = 0
        self._cut: set[int] = set()
        self._added = 0
        self._calls: dict[str, sb.ToolDraft] = {}
        # The segment that the next reasoning part may continue.
        self._open: sb.ReasoningDraft | None = None

    def add(self, turn: messages.Turn) -> None:
        self._step, self._cut = turn.step, _cut_parts(turn)
        self._active_ms.clear()
        self._open = None
        begun = len(self.drafts)
        for part in turn.parts:
            is_reasoning = isinstance(part, ReasoningPart | RedactedPart)
            self._open = self._open if is_reasoning else None
            _ADDS[type(part)](self, part)
            self._note_activity(part)
        for result in turn.results:
            self._result(result)
        for request in turn.requests:
            if request.server is not None and request.decision == "accepted":
                self._calls[request.call_id].tell("completed")
        for added in turn.added:
            self._add_user_message(added)
        ends = (result.ended_ms for result in turn.results if result.ended_ms is not None)
        self._before_ms = max((self._before_ms, *self._active_ms.values(), *ends))
        thoughts = [d for d in self.drafts[begun:] if isinstance(d, sb.ReasoningDraft)]
        if len(thoughts) == 1:
            thoughts[0].facts["reasoning_tokens"] = turn.usage.reasoning_tokens

    def _id(self, part: messages.Part) -> str:
        return segment_id(self._event_id, part.part)

    def _note_activity(self, part: messages.Part) -> None:
        is_prose = isinstance(part, ReasoningPart | messages.TextPart)
        at_ms = part.ended_ms if is_prose else part.started_ms
        if at_ms is not None:
            self._active_ms[part.output] = max(at_ms, self._active_ms.get(part.output, at_ms))

    # -- reasoning

    def _reasoning(self, part: ReasoningPart | RedactedPart) -> None:
        draft = self._open
        if draft is None or (draft.output_index, draft.item_id) != (part.output, part.item_id):
            draft = self._open = sb.ReasoningDraft(self._id(part), part.output)
            draft.facts |= {"effort_level": self._effort, "provider_item_id": part.item_id}
            self.drafts.append(draft)
        draft.entries.append(self._entry(part))
        started, ended = draft.entries[0].created_at, part.ended_ms
        draft.facts["duration_ms"] = None if ended is None else ended - started
        if isinstance(part, ReasoningPart):
            draft.citations += map(without_raw, part.citations)

    def _entry(self, part: ReasoningPart | RedactedPart) -> sb.EntryDraft:
        if isinstance(part, RedactedPart):
            # It came whole: it took the time since the last activity.
            since_ms = self._active_ms.get(part.output, self._before_ms)
            return sb.EntryDraft("redacted", since_ms, is_complete=True)
        is_complete = part.ended_ms is not None and part.part not in self._cut
        entry = sb.EntryDraft(part_type(part.kind), part.started_ms, is_complete=is_complete)
        entry.pieces.append(remove_markers(part.text))
        return entry

    # -- tools

    def _call(self, part: CallPart) -> None:
        draft = self._add_tool(
            part,
            kind_of(part.name, part.executor, part.provider_data),
            name=part.name,
            args=part.args if part.error is None else part.raw or None,
            executor=part.executor,
        )
        for activity in part.activities:
            draft.tell(activity.status)
        if part.error is not None:
            draft.answer(ToolValue(error=part.error), None, None, self._step)
            draft.is_malformed = True

    def _output(self, part: OutputPart) -> None:
        draft = self._calls.get(part.call_id)
        if draft is None or not draft.takes(self._step):
            draft = self._add_tool(part, ANY_TOOL, name="", args=None, executor="provider")
        elif (draft.has_result or draft.awaits_approval) and not (part.content or part.is_error):
            return
        said = tool_value(part.content, is_error=part.is_error)
        draft.answer(said, None, part.started_ms - draft.created_at, self._step)

    def _add_tool(self, part: CallPart | OutputPart, kind: ToolKind, **fields: Any) -> sb.ToolDraft:
        draft = sb.ToolDraft(
            kind.segment,
            self._step,
            id=self._id(part),
            call_id=part.call_id,
            created_at=part.started_ms,
            output_index=part.output,
            provider_item_id=part.item_id,
            **fields,
        )
        self._calls[part.call_id] = draft
        self.drafts.append(draft)
        return draft

    def _result(self, result: messages.CallResult) -> None:
        draft = self._calls.get(result.call_id)
        if draft is None or draft.step != self._step:
            return
        said = tool_value(result.content, is_error=result.is_error)
        began, ended = result.started_ms, result.ended_ms
        ran_ms = None if began is None or ended is None else ended - began
        nested = result.message
        event = None if nested is None else to_event(nested, event_id=draft.id)
        draft.answer(said, result.kind, ran_ms, self._step, event)

    # -- the rest

    def _text(self, part: messages.TextPart) -> None:
        draft = sb.TextDraft(text_segment(self._id(part), part))
        text = remove_markers(part.text)
        draft.pieces += [text] if text else []
        draft.citations += map(without_raw, part.citations)
        self.drafts.append(draft)

    def _add_user_message(self, added: messages.AddedMessage) -> None:
        id = user_message_id(self._event_id, self._added)
        self._added += 1
        segment = UserMessageSegment(
            id=id,
            text=prompt_text(added.content),
            sequence_number=0,
            created_at=added.at_ms,
            said_at=added.said_at_ms,
        )
        self.drafts.append(sb.WholeDraft(segment))

    def _media(self, part: messages.MediaPart) -> None:
        self.drafts.append(sb.WholeDraft(media_segment(self._id(part), part, 0, part.started_ms)))

    def _opaque(self, part: messages.OpaquePart) -> None:
        self.drafts.append(sb.WholeDraft(opaque_segment(self._id(part), part, 0, part.started_ms)))


def _cut_parts(turn: messages.Turn) -> set[int]:
    """Return where a turn broke off: the last part of every output without a reason."""
    if turn.finish is not None:
        return set()
    unfinished = {end.output for end in turn.outputs if end.finish is None}
    last = {part.output: part.part for part in turn.parts}
    return {part for output, part in last.items() if output in unfinished}


# These functions take events and parts alike: they only use the fields that both have.


def text_segment(id: str, start: Any) -> TextSegment:
    """Start a text segment."""
    return TextSegment(
        id=id,
        text="",
        output_index=start.output,
        provider_item_id=start.item_id,
        channel=start.channel,
        is_refusal=start.is_refusal,
    )


def media_segment(id: str, made: Any, number: int, at_ms: int) -> MediaSegment:
    """Build the segment of an image, audio or video."""
    return MediaSegment(
        id=id,
        media_type=made.media_type,
        url=data_url(made),
        sequence_number=number,
        created_at=at_ms,
        output_index=made.output,
        provider_item_id=made.item_id,
    )


def opaque_segment(id: str, item: Any, number: int, at_ms: int) -> OpaqueSegment:
    """Build the segment of an item that Headrace does not interpret."""
    return OpaqueSegment(
        id=id,
        kind=item.kind,
        sequence_number=number,
        created_at=at_ms,
        output_index=item.output,
        provider_item_id=item.item_id,
    )


# pyright: reportPrivateUsage=false
_ADDS: dict[type, Callable[[_Composer, Any], None]] = {
    messages.TextPart: _Composer._text,
    ReasoningPart: _Composer._reasoning,
    RedactedPart: _Composer._reasoning,
    CallPart: _Composer._call,
    OutputPart: _Composer._output,
    messages.MediaPart: _Composer._media,
    messages.OpaquePart: _Composer._opaque,
}

"""Turns a stored message back into records, for readers of records when the log is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from headrace import events as ev
from headrace.events import Event, Record
from headrace.messages import message as msg

# Events of parts that arrive whole.
_WHOLE: dict[type, type[Event]] = {
    msg.RedactedPart: ev.ReasoningRedacted,
    msg.OutputPart: ev.ToolOutput,
    msg.MediaPart: ev.MediaProduced,
    msg.OpaquePart: ev.OpaqueItem,
}
_LOST_END = "nothing tells how the answer ended"
_EventT = TypeVar("_EventT", bound=msgspec.Struct)


def unfold(message: msg.Message) -> list[Record]:
    """Return records that fold to this assistant message.

    The deltas of a part are one, and a result follows the turn that asked for it. Requests for
    input, nested runs and what the user has said during the run are left out.
    """
    records: list[Record] = []
    at_ms = message.created_at_ms
    for step, when_ms, event in _events(message):
        at_ms = max(at_ms, when_ms)
        records.append(Record(len(records) + 1, at_ms, event, (), step))
    return records


_Moment = tuple[int, int, Event]


def _events(message: msg.Message) -> Iterator[_Moment]:
    model = next((turn.model for turn in message.turns if turn.model), None)
    if message.run_id is not None:
        yield 0, 0, ev.RunStarted(message.run_id, model, message.effort)
    step = 0
    for turn in message.turns:
        step = turn.step
        if message.run_id is not None:
            yield step, 0, ev.StepStarted(step)
        for when_ms, event in _turn_events(turn):
            yield step, when_ms, event
        if message.run_id is not None:
            yield step, 0, ev.StepFinished(step, turn.nudge)
    if message.run_id is not None:
        if message.output is not msgspec.UNSET:
            yield step, 0, ev.OutputProduced(message.output)
        yield step, 0, _end(message)


def _turn_events(turn: msg.Turn) -> Iterator[tuple[int, Event]]:
    is_successive = _is_successive(turn)
    yield (
        0,
        ev.TurnStarted(
            dialect=turn.dialect or "",
            provider=turn.provider,
            model=turn.model,
            response_id=turn.response_id,
            outputs="successive" if is_successive else "candidates",
        ),
    )
    yield from ((0, ev.OutputStarted(one.output, one.role)) for one in turn.outputs)
    for part in turn.parts:
        yield from _part_events(part)
    for citation in turn.citations:
        yield 0, _event(ev.CitationAdded, citation)
    for one in turn.outputs:
        yield 0, ev.OutputFinished(one.output, one.finish, one.raw_reason)
    yield 0, _turn_end(turn)
    for result in turn.results:
        if result.started_ms is not None:
            yield result.started_ms, ev.ToolStarted(result.call_id)
        yield result.ended_ms or 0, _event(ev.ToolResult, result)


def _is_successive(turn: msg.Turn) -> bool:
    """Return whether the outputs are steps of an agent, which a message does not store: only xAI
    has such outputs."""
    return turn.dialect == "xai" and len(turn.outputs) > 1


def _part_events(part: msg.Part) -> Iterator[tuple[int, Event]]:
    start, end = part.started_ms, part.ended_ms or part.started_ms
    number = part.part
    seals = part.seals
    match part:
        case msg.ReasoningPart():
            yield start, _event(ev.ReasoningStarted, part)
            if part.text:
                yield start, ev.ReasoningDelta(number, part.text)
            yield from ((end, one) for one in _citations(part))
            yield end, ev.ReasoningFinished(number)
        case msg.TextPart():
            yield start, _event(ev.TextStarted, part)
            if part.text:
                yield start, ev.TextDelta(number, part.text)
            yield from ((end, one) for one in _citations(part))
            yield end, ev.TextFinished(number)
        case msg.CallPart():
            ended: type[Event] = ev.ToolCallFinished if part.error is None else ev.ToolCallMalformed
            yield start, _event(ev.ToolCallStarted, part)
            if part.raw:
                yield start, ev.ToolCallArgsDelta(number, part.raw)
            yield end, _event(ended, part)
            for one in part.activities:
                yield one.at_ms, _to_activity(part, one)
        case _:
            yield end, _event(_WHOLE[type(part)], part)
    for seal in seals:
        yield end, ev.PartSealed(number, seal.kind, seal.value)


def _to_activity(call: msg.CallPart, told: msg.Activity) -> ev.ToolActivity:
    return ev.ToolActivity(
        part=call.part, call_id=call.call_id, status=told.status, detail=told.detail
    )


def _citations(part: msg.TextPart | msg.ReasoningPart) -> Iterator[ev.CitationAdded]:
    for citation in part.citations:
        yield msgspec.structs.replace(_event(ev.CitationAdded, citation), part=part.part)


def _event(kind: type[_EventT], stored: msgspec.Struct) -> _EventT:
    """Create an event from what is stored, which names its fields alike."""
    return msgspec.convert(stored, kind, from_attributes=True)


def _turn_end(turn: msg.Turn) -> ev.TurnFinished | ev.TurnFailed:
    error = turn.error
    if error is None and turn.finish is not None:
        return ev.TurnFinished(
            reason=turn.finish,
            usage=turn.usage,
            service_tier=turn.service_tier,
            skipped_frames=turn.skipped_frames,
            is_complete=turn.is_complete,
            provider_data=turn.provider_data,
        )
    return ev.TurnFailed(
        category="incomplete" if error is None else error.category,
        message=_LOST_END if error is None else error.message,
        code=None if error is None else error.code,
        retryable=error is not None and error.retryable,
        retry_after_s=None if error is None else error.retry_after_s,
        usage=turn.usage,
        skipped_frames=turn.skipped_frames,
    )


def _end(message: msg.Message) -> ev.RunFinished | ev.RunFailed:
    error = message.error
    if error is None and message.finish is not None:
        return ev.RunFinished(message.finish, message.usage)
    category = "incomplete" if error is None else error.category
    text = _LOST_END if error is None else error.message
    return ev.RunFailed(category=category, message=text, usage=message.usage)

"""Builds the timeline of a stored message whose records are gone.

A message stores when each part started and ended, but not the speed or the pauses within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

import msgspec

from headrace import events as ev
from headrace.events import Event, Record
from headrace.messages import (
    CallPart,
    CallResult,
    MediaPart,
    Message,
    OpaquePart,
    OutputPart,
    Part,
    ReasoningPart,
    RedactedPart,
    TextPart,
    Turn,
)
from headrace.timeline.span import Span
from headrace.timeline.timeline import MIN_PAUSE_MS, Gap, Timeline, timeline

_Timed = tuple[int, Event]
_Moment = tuple[int, Event, int]
# Events of parts that arrive whole.
_WHOLE: dict[type, type[Event]] = {
    RedactedPart: ev.ReasoningRedacted,
    OutputPart: ev.ToolOutput,
    MediaPart: ev.MediaProduced,
    OpaquePart: ev.OpaqueItem,
}


def message_timeline(message: Message) -> Timeline:
    """Return the timeline of a stored message.

    It has no pulses, its delta counts are 0, and its pauses are those between parts and tools.
    """
    moments = list(_moments(message))
    # The sort is stable: events of the same time keep their order.
    moments.sort(key=itemgetter(0))
    records = [Record(seq, at, event, (), step) for seq, (at, event, step) in enumerate(moments, 1)]
    told = timeline(records)
    spans = tuple(msgspec.structs.replace(span, deltas=0) for span in told.spans)
    pauses = tuple(_pauses(spans, told.started_ms, told.ended_ms))
    return msgspec.structs.replace(told, spans=spans, pauses=pauses, pulses=())


def _moments(message: Message) -> Iterator[_Moment]:
    at = message.created_at_ms
    model = next((turn.model for turn in message.turns if turn.model), None)
    yield at, ev.RunStarted(message.run_id or "", model, message.effort), 0
    for turn in message.turns:
        last = _last_ms(turn, at)
        yield from ((min(max(when, at), last), event, turn.step) for when, event in _turn(turn, at))
        at = last
    step = message.turns[-1].step if message.turns else 0
    yield at, _end(message), step


def _last_ms(turn: Turn, at: int) -> int:
    times = [part.ended_ms or part.started_ms for part in turn.parts]
    times += [result.ended_ms for result in turn.results if result.ended_ms is not None]
    return max(times, default=at)


def _turn(turn: Turn, at: int) -> Iterator[_Timed]:
    said = max((part.ended_ms or part.started_ms for part in turn.parts), default=at)
    yield at, ev.TurnStarted(dialect=turn.dialect or "", provider=turn.provider, model=turn.model)
    yield from ((at, ev.OutputStarted(one.output, one.role)) for one in turn.outputs)
    for part in turn.parts:
        yield from _part(part, said)
    yield said, _turn_end(turn)
    for result in turn.results:
        # A call that never ran has no events.
        if result.started_ms is not None and result.ended_ms is not None:
            yield result.started_ms, ev.ToolStarted(result.call_id)
            yield result.ended_ms, _event(ev.ToolResult, result)


def _part(part: Part, said_ms: int) -> Iterator[_Timed]:
    start, end = part.started_ms, part.ended_ms if part.ended_ms is not None else said_ms
    number = part.part
    match part:
        case ReasoningPart():
            yield start, _event(ev.ReasoningStarted, part)
            yield start, ev.ReasoningDelta(number, part.text)
            yield end, ev.ReasoningFinished(number)
        case TextPart():
            yield start, _event(ev.TextStarted, part)
            yield start, ev.TextDelta(number, part.text)
            yield end, ev.TextFinished(number)
        case CallPart():
            ended = ev.ToolCallFinished if part.error is None else ev.ToolCallMalformed
            yield start, _event(ev.ToolCallStarted, part)
            yield end, ev.ToolCallArgsDelta(number, part.raw)
            yield end, _event(ended, part)
            for one in part.activities:
                report = ev.ToolActivity(part=number, call_id=part.call_id, status=one.status)
                yield one.at_ms, report
        case _:
            yield end, _event(_WHOLE[type(part)], part)


def _event(kind: type[Event], stored: Part | CallResult) -> Event:
    """Create an event from what is stored, which names its fields alike."""
    return msgspec.convert(stored, kind, from_attributes=True)


def _turn_end(turn: Turn) -> ev.TurnFinished | ev.TurnFailed:
    error = turn.error
    if error is not None or turn.finish is None:
        category = "incomplete" if error is None else error.category
        message = "" if error is None else error.message
        return ev.TurnFailed(category=category, message=message, usage=turn.usage)
    return ev.TurnFinished(reason=turn.finish, usage=turn.usage)


def _end(message: Message) -> Event:
    if message.error is not None:
        error = message.error
        return ev.RunFailed(category=error.category, message=error.message, usage=message.usage)
    if message.finish is not None:
        return ev.RunFinished(message.finish, message.usage)
    return ev.RunFailed(category="incomplete", message="nothing told how it ended")


def _pauses(spans: Sequence[Span], start: int, end: int) -> Iterable[Gap]:
    at = start
    for span in spans:
        if span.start_ms - at >= MIN_PAUSE_MS:
            yield Gap(at, span.start_ms)
        at = max(at, span.end_ms)
    if end - at >= MIN_PAUSE_MS:
        yield Gap(at, end)

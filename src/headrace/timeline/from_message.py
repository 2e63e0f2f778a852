"""Builds the timeline of a stored message whose records are gone.

The parts keep when they began and ended, but not the speed and the pauses inside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

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

_Moment = tuple[int, Event, int]


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
    yield at, ev.RunStarted(message.run_id or "", _model(message), message.effort), 0
    for turn in message.turns:
        last = _last_ms(turn, at)
        yield from ((min(max(when, at), last), event, turn.step) for when, event in _turn(turn, at))
        at = last
    step = message.turns[-1].step if message.turns else 0
    yield at, _end(message), step


def _model(message: Message) -> str | None:
    return next((turn.model for turn in message.turns if turn.model), None)


def _last_ms(turn: Turn, at: int) -> int:
    times = [part.ended_ms or part.started_ms for part in turn.parts]
    times += [result.ended_ms for result in turn.results if result.ended_ms is not None]
    return max(times, default=at)


def _turn(turn: Turn, at: int) -> Iterator[tuple[int, Event]]:
    said = max((part.ended_ms or part.started_ms for part in turn.parts), default=at)
    yield at, ev.TurnStarted(dialect=turn.dialect or "", provider=turn.provider, model=turn.model)
    yield from ((at, ev.OutputStarted(one.output, one.role)) for one in turn.outputs)
    for part in turn.parts:
        yield from _part(part, said)
    yield said, _turn_end(turn)
    for result in turn.results:
        yield from _result(result)


def _part(part: Part, said_ms: int) -> Iterator[tuple[int, Event]]:
    start, end = part.started_ms, part.ended_ms if part.ended_ms is not None else said_ms
    place: dict[str, Any] = {"part": part.part, "output": part.output, "item": part.item}
    match part:
        case ReasoningPart():
            yield start, ev.ReasoningStarted(**place, kind=part.kind)
            yield start, ev.ReasoningDelta(part.part, part.text)
            yield end, ev.ReasoningFinished(part.part)
        case TextPart():
            yield start, ev.TextStarted(**place)
            yield start, ev.TextDelta(part.part, part.text)
            yield end, ev.TextFinished(part.part)
        case CallPart():
            yield from _call(part, end)
        case RedactedPart():
            yield end, ev.ReasoningRedacted(**place, data="")
        case OutputPart():
            content, is_error = part.content, part.is_error
            yield (
                end,
                ev.ToolOutput(**place, call_id=part.call_id, content=content, is_error=is_error),
            )
        case MediaPart():
            yield end, ev.MediaProduced(**place, media_type=part.media_type)
        case OpaquePart():
            yield end, ev.OpaqueItem(**place, kind=part.kind, data="")


def _call(part: CallPart, end: int) -> Iterator[tuple[int, Event]]:
    number, call_id, name = part.part, part.call_id, part.name
    yield (
        part.started_ms,
        ev.ToolCallStarted(
            part=number,
            output=part.output,
            item=part.item,
            call_id=call_id,
            name=name,
            executor=part.executor,
        ),
    )
    yield end, ev.ToolCallArgsDelta(number, part.raw)
    if part.error is not None:
        yield (
            end,
            ev.ToolCallMalformed(
                part=number, call_id=call_id, name=name, raw=part.raw, error=part.error
            ),
        )
    else:
        yield (
            end,
            ev.ToolCallFinished(
                part=number, call_id=call_id, name=name, args=part.args, raw=part.raw
            ),
        )
    for activity in part.activities:
        yield (
            activity.at_ms,
            ev.ToolActivity(part=number, call_id=call_id, status=activity.status),
        )


def _result(result: CallResult) -> Iterator[tuple[int, Event]]:
    """Yield the events of a tool result. A call that never ran has none."""
    if result.started_ms is None or result.ended_ms is None:
        return
    yield result.started_ms, ev.ToolStarted(result.call_id)
    yield (
        result.ended_ms,
        ev.ToolResult(call_id=result.call_id, content=result.content, is_error=result.is_error),
    )


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
    """Yield the gaps that no span covers."""
    at = start
    for span in spans:
        if span.start_ms - at >= MIN_PAUSE_MS:
            yield Gap(at, span.start_ms)
        at = max(at, span.end_ms)
    if end - at >= MIN_PAUSE_MS:
        yield Gap(at, end)

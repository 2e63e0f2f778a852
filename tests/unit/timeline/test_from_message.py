"""The timeline of a message whose records are gone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from headrace.content import TextContent
from headrace.messages import (
    Activity,
    CallPart,
    MediaPart,
    Message,
    OpaquePart,
    OutputPart,
    RedactedPart,
    Turn,
    fold,
)
from headrace.outcome import ErrorInfo
from headrace.timeline.from_message import message_timeline
from headrace.timeline.timeline import Timeline, timeline
from headrace.usage import Usage
from headrace.wire.decode import decode
from tests.authored import anthropic_streams, chat_streams
from tests.unit.cli.stream import HELLO, THINK


def bare(told: Timeline) -> dict[str, Any]:
    """What a message still knows. A call is known by when it was closed, which may be later
    than the last of its arguments."""
    spans = [
        (span.kind, span.label, span.start_ms, span.kind == "call" or span.end_ms, span.chars)
        for span in told.spans
    ]
    return {
        "spans": spans,
        "first": (told.first_reasoning_ms, told.first_text_ms),
        "times": (told.started_ms, told.ended_ms),
        "end": (told.finish, told.error, told.usage),
        "who": (told.provider, told.dialect, told.model),
    }


def ticking(step_ms: int) -> Any:
    now = iter(range(1_000_000, 10**12, step_ms))
    return lambda: next(now)


@pytest.mark.parametrize("data", [HELLO, THINK])
def test_it_is_that_of_the_records(data: bytes) -> None:
    records = list(decode(data.splitlines(keepends=True), clock=ticking(250)))
    assert bare(message_timeline(fold(records))) == bare(timeline(records))


@pytest.mark.parametrize("streams", [anthropic_streams, chat_streams])
def test_any_message_has_one(streams: Any) -> None:
    @settings(max_examples=50)
    @given(streams())
    def check(stream: Any) -> None:
        records = list(decode(stream.data.splitlines(keepends=True), clock=ticking(7)))
        told = message_timeline(fold(records))
        whole = timeline(records)
        assert told.started_ms <= told.ended_ms <= whole.ended_ms
        assert {span.kind for span in told.spans} <= {span.kind for span in whole.spans}
        assert not told.pulses
        assert all(span.deltas == 0 for span in told.spans)

    check()


def test_pauses_are_those_between_parts_and_tools() -> None:
    records = list(decode(HELLO.splitlines(keepends=True), clock=ticking(500)))
    message = fold(records)
    (turn,) = message.turns
    (part,) = turn.parts
    late = msgspec.structs.replace(part, started_ms=part.started_ms + 9_000, ended_ms=10**7)
    moved = msgspec.structs.replace(turn, parts=(late,))
    told = message_timeline(msgspec.structs.replace(message, turns=(moved,)))
    (gap,) = told.pauses
    assert (gap.start_ms, gap.end_ms) == (told.started_ms, late.started_ms)


def test_every_kind_of_part_and_end_is_told() -> None:
    place: dict[str, Any] = {"output": 0, "item": 0, "started_ms": 5, "ended_ms": 9}
    text = (TextContent("found"),)
    parts = (
        RedactedPart(part=0, **place, data="x"),
        CallPart(
            part=1,
            **place,
            call_id="c",
            name="search",
            executor="provider",
            activities=(Activity(7, "completed"),),
        ),
        OutputPart(part=2, **place, call_id="c", content=text),
        CallPart(part=3, **place, call_id="d", name="odd", raw="{", error="cut"),
        MediaPart(part=4, **place, media_type="image/png"),
        OpaquePart(part=5, **place, kind="box", data="{}"),
    )
    error = ErrorInfo("server", "gone")
    turn = Turn(dialect="chat", parts=parts, error=error)
    message = Message(role="assistant", turns=(turn,), error=error, usage=Usage(output_tokens=3))
    told = message_timeline(message)
    kinds = {span.kind for span in told.spans}
    assert kinds == {"reasoning", "call", "tool", "media", "opaque"}
    assert told.error is not None
    assert told.error.message == "gone"
    assert told.usage.output_tokens == 3


def test_a_message_that_says_nothing_has_a_timeline() -> None:
    told = message_timeline(Message(role="assistant", created_at_ms=7))
    assert (told.duration_ms, told.spans) == (0, ())
    assert told.error is not None

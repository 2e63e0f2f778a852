"""The vocabulary as JSON, both ways, and the stamping of records."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.events import (
    EVENT_TYPES,
    Record,
    Stamp,
    UnknownEvent,
    decode_event,
    decode_record,
    encode_event,
    encode_record,
)
from headrace.outcome import END_TURN, abort_reason
from headrace.usage import Usage

NUMBERS: dict[str, Any] = {"part": 1, "output": 0, "item": 2, "item_id": "i"}
EXAMPLES: list[Any] = [
    ev.TurnStarted(dialect="chat", provider="p", model="m", response_id="r"),
    ev.OutputStarted(0),
    ev.OutputFinished(0, END_TURN, "stop"),
    ev.ReasoningStarted(**NUMBERS, kind="summary", summary_index=3, provider_data={"format": "x"}),
    ev.ReasoningDelta(1, "hm"),
    ev.ReasoningFinished(1, "sig"),
    ev.ReasoningRedacted(**NUMBERS, data="…"),
    ev.TextStarted(**NUMBERS, channel="final", is_refusal=True),
    ev.TextDelta(1, "línea\n"),
    ev.TextFinished(1),
    ev.ToolCallStarted(**NUMBERS, call_id="c", name="n", executor="provider", input="text"),
    ev.ToolCallArgsDelta(1, "{"),
    ev.ToolCallFinished(part=1, call_id="c", name="n", args={"a": [1.5, None]}, raw="…"),
    ev.ToolCallMalformed(part=1, call_id="c", name="n", raw="{", error="no"),
    ev.ToolActivity(part=1, call_id="c", status="searching", detail={"q": 1}),
    ev.ToolOutput(**NUMBERS, call_id="c", content=(TextContent("t"),), is_error=True),
    ev.MediaProduced(**NUMBERS, media_type="image/png", data="aGk="),
    ev.OpaqueItem(**NUMBERS, kind="compaction", data='{"type":"compaction" }'),
    ev.PartSealed(1, "encrypted", "x"),
    ev.CitationAdded(part=1, source="url", ref="u", start=0, end=4, raw={"x": 1}),
    ev.FrameSkipped(reason="no JSON", data="{", size=1),
    ev.PartRestored(1, "the whole text"),
    ev.TurnFinished(reason=END_TURN, usage=Usage(input_tokens=1), provider_data={"created": 1}),
    ev.TurnFailed(category="incomplete", message="cut", retryable=True),
    ev.RunStarted("run", "m", "high"),
    ev.StepStarted(0),
    ev.InputRequested(
        request_id="q", kind="form", call_id="c", name="n", schema={}, expires_at_ms=5
    ),
    ev.InputAnswered(request_id="q", decision="denied", reason="no", by="ann", entry_id="e"),
    ev.UserMessageAdded(content=(TextContent("Hurry."),), said_at_ms=3),
    ev.CancelRequested(by="ann"),
    ev.RunSuspended("input", ("q",)),
    ev.RunResumed(2, "node"),
    ev.ToolStarted("c", {"a": 1}),
    ev.ToolProgress(call_id="c", progress=0.5, log="line"),
    ev.ToolResult(call_id="c", content=(TextContent("t"),), kind="web_search"),
    ev.StepDiscarded(0, "overloaded"),
    ev.StepFinished(0),
    ev.HistoryCompacted(10, 2, "truncate", (8, {"role": "user"})),
    ev.OutputProduced({"name": "Oslo", "districts": [1, 2.5, None]}),
    ev.RunFinished(abort_reason("max_iterations"), Usage(output_tokens=1)),
    ev.RunFailed(category="interrupted", message="restart"),
    ev.RunClosed("committed", "m1"),
]


def test_there_is_an_example_of_every_event() -> None:
    assert {type(event) for event in EXAMPLES} == set(EVENT_TYPES)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_every_event_survives_json(event: Any) -> None:
    assert decode_event(encode_event(event)) == event
    record = Record(7, 1000, event, ("call_1",), 2)
    assert decode_record(encode_record(record)) == record


def test_tags_are_the_snake_case_of_the_names() -> None:
    tags = {type(event).__name__: type(event).__struct_config__.tag for event in EXAMPLES}
    assert tags["ToolCallArgsDelta"] == "tool_call_args_delta"
    assert tags["TextDelta"] == "text_delta"


def test_an_unknown_tag_is_kept_and_written_back_unchanged() -> None:
    line = b'{"seq":1,"at_ms":2,"event":{"type":"brand_new","deep":{"a":[1, 2]}}}'
    record = decode_record(line)
    assert record.event == UnknownEvent("brand_new", b'{"type":"brand_new","deep":{"a":[1, 2]}}')
    assert encode_record(record) == line


def test_a_known_tag_with_wrong_fields_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="part"):
        decode_event(b'{"type":"text_delta","part":"one","text":"x"}')


def test_events_are_frozen() -> None:
    with pytest.raises(AttributeError):
        ev.TextDelta(1, "a").text = "b"  # type: ignore[misc]


def test_stamped_records_have_no_gap_and_time_never_goes_back() -> None:
    times = iter([100.9, 90.0, 250.0])
    stamp = Stamp(lambda: next(times))
    records = stamp.feed([ev.TextDelta(0, "a"), ev.TextDelta(0, "b")])
    records += stamp.feed([ev.TextDelta(0, "c")])
    records += stamp.feed([ev.TextDelta(0, "d")], path=("call",), step=3)
    assert [record.seq for record in records] == [1, 2, 3, 4]
    assert [record.at_ms for record in records] == [100, 100, 100, 250]
    assert (records[-1].path, records[-1].step) == (("call",), 3)

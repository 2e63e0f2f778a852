"""The time of thinking: from when the provider began to reason, whatever it shows of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.events import ReasoningStarted, Record, Stamp, decode_record, encode_record
from headrace.messages import ReasoningPart, fold
from headrace.projections.thinking import ThinkingProjection, encode_frame
from headrace.wire.decoder import Decoder
from tests.wire import sse

Timed = list[tuple[int, dict[str, Any]]]
CREATED = {"type": "response.created", "response": {"id": "r1", "model": "m1"}}
COMPLETED: dict[str, Any] = {"type": "response.completed", "response": {"id": "r1", "output": []}}
SUMMARY_PART = {"type": "response.reasoning_summary_part.added", "output_index": 0}
SUMMARY = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0}


def records_of(timed: Timed) -> list[Record]:
    """The records of a stream whose frames come at the given times (ms)."""
    now = 0
    stamp, decoder = Stamp(lambda: now), Decoder()
    made: list[Record] = []
    for now, payload in timed:  # noqa: B007 (the clock reads it)
        made += stamp.feed(decoder.feed(sse(payload, done=False)))
    return [*made, *stamp.feed(decoder.close())]


def frames_of(records: list[Record]) -> list[dict[str, Any]]:
    projection = ThinkingProjection()
    made = [frame for record in records for frame in projection.feed(record)]
    payloads = [encode_frame(frame) for frame in [*made, *projection.close()]]
    return [msgspec.json.decode(payload) for payload in payloads if payload != b"[DONE]"]


def times(records: list[Record]) -> tuple[list[int], list[int]]:
    """When thinking started and how long it took, phase by phase."""
    frames = frames_of(records)
    starts = [frame["timestamp"] for frame in frames if frame["type"] == "thinking_start"]
    ends = [frame["duration_ms"] for frame in frames if frame["type"] == "thinking_end"]
    return starts, ends


def reasoning_item(**fields: Any) -> dict[str, Any]:
    item: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": []}
    return item | fields


def responses(
    added: dict[str, Any], *between: tuple[int, dict[str, Any]], done: dict[str, Any]
) -> Timed:
    """A reasoning item that is added at 0.1 s and done at 60.1 s, then a text."""
    text = {"type": "response.output_text.delta", "output_index": 1, "delta": "Hi."}
    return [
        (0, CREATED),
        (100, {"type": "response.output_item.added", "output_index": 0, "item": added}),
        *between,
        (60_100, {"type": "response.output_item.done", "output_index": 0, "item": done}),
        (60_100, text),
        (60_500, COMPLETED),
    ]


ENCRYPTED = reasoning_item(encrypted_content="gAAA")
SAID = reasoning_item(summary=[{"type": "summary_text", "text": "**Weighing**"}])
RESPONSES = {
    "hidden": responses(reasoning_item(), done=reasoning_item()),
    "encrypted at the end": responses(reasoning_item(), done=ENCRYPTED),
    "encrypted at once": responses(ENCRYPTED, done=ENCRYPTED),
    "summarized late": responses(
        reasoning_item(), (60_000, SUMMARY_PART), (60_000, SUMMARY | {"delta": "So."}), done=SAID
    ),
    "summarized only in the finished item": responses(reasoning_item(), done=SAID),
}


@pytest.mark.parametrize("timed", RESPONSES.values(), ids=RESPONSES)
def test_a_responses_item_thinks_from_when_it_is_added(timed: Timed) -> None:
    records = records_of(timed)
    assert times(records) == ([100], [60_000])
    (part,) = [p for p in fold(records).turns[0].parts if isinstance(p, ReasoningPart)]
    assert part.started_ms == 100
    assert part.kind == "summary"


@pytest.mark.parametrize("timed", RESPONSES.values(), ids=RESPONSES)
def test_thinking_is_announced_when_it_begins_and_not_when_it_is_told(timed: Timed) -> None:
    until = [(at, payload) for at, payload in timed if at <= 100]
    now = 0
    stamp, decoder, projection = Stamp(lambda: now), Decoder(), ThinkingProjection()
    live: list[Any] = []
    for now, payload in until:  # noqa: B007
        for record in stamp.feed(decoder.feed(sse(payload, done=False))):
            live += projection.feed(record)
    assert [encode_frame(f) for f in live] == [b'{"type":"thinking_start","timestamp":100}']


@pytest.mark.parametrize("timed", RESPONSES.values(), ids=RESPONSES)
def test_stored_records_tell_the_same_time(timed: Timed) -> None:
    records = records_of(timed)
    again = [decode_record(encode_record(record)) for record in records]
    assert frames_of(again) == frames_of(records)


RAW_TEXT = {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "Hm."}
RAW_DONE = reasoning_item(content=[{"type": "reasoning_text", "text": "Hm."}])
# As vLLM, LM Studio, DeepSeek and OpenRouter announce raw reasoning, which they stream at once.
RAW_ITEMS = {
    "with status and content": (CREATED, reasoning_item(status="in_progress", content=[])),
    "without an id of its kind": (CREATED, reasoning_item(id="msg_1", status="in_progress")),
    "without a reasoning option": (
        {"type": "response.created", "response": {"id": "r1", "reasoning": None}},
        reasoning_item(),
    ),
    "with its text": (CREATED, RAW_DONE),
}


@pytest.mark.parametrize(("created", "added"), RAW_ITEMS.values(), ids=RAW_ITEMS)
def test_raw_reasoning_is_one_raw_part(created: dict[str, Any], added: dict[str, Any]) -> None:
    timed = responses(added, (100, RAW_TEXT), done=RAW_DONE)
    records = records_of([(0, created), *timed[1:]])
    started = [r.event for r in records if isinstance(r.event, ReasoningStarted)]
    assert [(event.part, event.kind) for event in started] == [(0, "raw")]
    assert times(records) == ([100], [60_000])


def anthropic(*blocks: tuple[int, dict[str, Any]]) -> Timed:
    return [
        (0, {"type": "message_start", "message": {"id": "m", "model": "m1", "usage": {}}}),
        *blocks,
        (61_000, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        (61_000, {"type": "message_stop"}),
    ]


def block(at: int, index: int, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return at, {"type": "content_block_start", "index": index, "content_block": content}


def delta(at: int, index: int, **fields: Any) -> tuple[int, dict[str, Any]]:
    return at, {"type": "content_block_delta", "index": index, "delta": fields}


def stop(at: int, index: int) -> tuple[int, dict[str, Any]]:
    return at, {"type": "content_block_stop", "index": index}


THINKING = {"type": "thinking", "thinking": "", "signature": ""}
REDACTED = {"type": "redacted_thinking", "data": "Zg=="}
TEXT = {"type": "text", "text": ""}


def answer(at: int, index: int) -> list[tuple[int, dict[str, Any]]]:
    return [
        block(at, index, TEXT),
        delta(at, index, type="text_delta", text="Hi."),
        stop(at, index),
    ]


def test_a_signature_only_block_thinks_from_its_start() -> None:
    timed = anthropic(
        block(100, 0, THINKING),
        delta(60_100, 0, type="signature_delta", signature="s1"),
        stop(60_100, 0),
        *answer(60_100, 1),
    )
    records = records_of(timed)
    assert times(records) == ([100], [60_000])
    (part,) = [p for p in fold(records).turns[0].parts if isinstance(p, ReasoningPart)]
    assert (part.started_ms, part.signature) == (100, "s1")


def test_a_redacted_block_is_measured_from_the_start_of_the_turn() -> None:
    timed = anthropic(block(60_000, 0, REDACTED), stop(60_000, 0), *answer(60_000, 1))
    assert times(records_of(timed)) == ([0], [60_000])


def test_a_redacted_block_after_text_is_measured_from_the_end_of_the_text() -> None:
    timed = anthropic(
        *answer(1_000, 0), block(60_000, 1, REDACTED), stop(60_000, 1), *answer(60_000, 2)
    )
    frames = frames_of(records_of(timed))
    assert times(records_of(timed)) == ([1_000], [59_000])
    stamps = [frame["timestamp"] for frame in frames if "timestamp" in frame]
    assert stamps == sorted(stamps)


def test_a_redacted_block_that_is_the_last_record_has_taken_its_time() -> None:
    """The stream broke off: what ends it has the time of the last record."""
    records = records_of(anthropic(block(60_000, 0, REDACTED)))
    at = next(n for n, r in enumerate(records, 1) if isinstance(r.event, ev.ReasoningRedacted))
    frames = frames_of(records[:at])
    assert times(records[:at]) == ([0], [60_000])
    assert frames[-2]["timestamp"] == 60_000

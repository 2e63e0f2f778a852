"""Text streams: one table row for each API."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.wire.dialects.text.shape import SHAPES
from tests.aws import aws_chunks
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, single_bytes, sse

METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 4}}
# The field of the shape, a stream that says "Hello", and its finish reason.
STREAMS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "completion": (
        [{"completion": "Hel"}, {"completion": "lo", "stop_reason": "stop_sequence", **METRICS}],
        "stop_sequence",
    ),
    "generation": (
        [
            {"generation": "Hel", "prompt_token_count": 3, "generation_token_count": 1},
            {"generation": "lo", "generation_token_count": 4, "stop_reason": "length"},
        ],
        "max_tokens",
    ),
    "outputText": (
        [
            {"outputText": "Hel", "inputTextTokenCount": 3, "completionReason": None},
            {"outputText": "lo", "totalOutputTextTokenCount": 4.0, "completionReason": "FINISH"},
        ],
        "end_turn",
    ),
    "outputs": (
        [
            {"outputs": [{"text": "Hel", "stop_reason": None}]},
            {"outputs": [{"text": "lo", "stop_reason": "stop"}], **METRICS},
        ],
        "end_turn",
    ),
    "generations": (
        [{"generations": [{"text": "Hello", "finish_reason": "COMPLETE"}], **METRICS}],
        "end_turn",
    ),
    "results": (
        [
            {"results": [{"generated_text": "Hel", "input_token_count": 3, "stop_reason": None}]},
            {"results": [{"generated_text": "", "stop_reason": "not_finished"}]},
            {
                "results": [
                    {"generated_text": "lo", "generated_token_count": 4, "stop_reason": "eos_token"}
                ]
            },
        ],
        "end_turn",
    ),
    "token": (
        [
            {"token": {"text": "Hello"}, "generated_text": None, "details": None},
            {
                "token": {"text": "</s>", "special": True},
                "generated_text": "Hello",
                "details": {"finish_reason": "eos_token", "generated_tokens": 4},
            },
        ],
        "end_turn",
    ),
}


def test_every_shape_has_a_stream_here() -> None:
    assert set(STREAMS) == {shape.field for shape in SHAPES if not shape.is_cumulative}


@pytest.mark.parametrize("field", STREAMS)
def test_a_stream_of_every_shape(field: str) -> None:
    payloads, reason = STREAMS[field]
    events = events_of(sse(*payloads, done=False))
    check_grammar(events)
    message, end = message_of(events), events[-1]
    assert message.text == "Hello"
    assert isinstance(end, ev.TurnFinished)
    assert end.reason.word == reason
    assert end.usage.output_tokens == 4
    assert end.usage.input_tokens == (None if field == "token" else 3)
    assert events_of(aws_chunks(*payloads), framing="aws-event-stream") == events


@pytest.mark.parametrize("field", STREAMS)
def test_a_stream_that_is_cut_is_incomplete(field: str) -> None:
    payloads, _ = STREAMS[field]
    end = events_of(sse(*payloads[:-1], done=False), "text")[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == "incomplete"


# -- whole texts, as vLLM sends them


def whole_texts(*texts: Any, end: bytes = b"\0") -> bytes:
    return b"".join(msgspec.json.encode({"text": text}) + end for text in texts)


@pytest.mark.parametrize(("framing", "end"), [("nul-json", b"\0"), ("ndjson", b"\n")])
def test_a_whole_text_adds_what_is_new_and_ends_with_the_bytes(framing: str, end: bytes) -> None:
    data = whole_texts(["Hi"], ["Hi, "], ["Hi, "], ["Hi, you"], end=end)
    events = events_of(data, framing=framing)
    check_grammar(events)
    assert [e.text for e in events if isinstance(e, ev.TextDelta)] == ["Hi", ", ", "you"]
    last = events[-1]
    assert isinstance(last, ev.TurnFinished)
    assert (last.reason.word, last.raw_reason, last.is_complete) == ("other", None, True)
    assert events_of(single_bytes(data), framing=framing) == events


def test_whole_texts_are_candidates() -> None:
    events = events_of(whole_texts(["a", "x"], ["ab", "xy"]), framing="nul-json")
    texts = {0: "", 1: ""}
    parts = {e.part: e.output for e in events if isinstance(e, ev.TextStarted)}
    for event in events:
        if isinstance(event, ev.TextDelta):
            texts[parts[event.part]] += event.text
    assert texts == {0: "ab", 1: "xy"}


def test_a_whole_text_that_changes_adds_what_differs() -> None:
    events = events_of(whole_texts(["abc"], [], [""], ["abd"], ["abde"]), framing="nul-json")
    assert [e.text for e in events if isinstance(e, ev.TextDelta)] == ["abc", "d", "e"]


@pytest.mark.parametrize("data", [whole_texts(["a"], ["ab"])[:-3], b"", whole_texts([""])])
def test_whole_texts_that_are_cut_or_empty_are_incomplete(data: bytes) -> None:
    last = events_of(data, "text", framing="nul-json")[-1]
    assert isinstance(last, ev.TurnFailed)
    assert last.category == "incomplete"


def test_several_generations_are_candidates() -> None:
    payload = {"generations": [{"text": t, "finish_reason": "COMPLETE"} for t in "ab"]}
    started = [e for e in events_of(sse(payload, done=False)) if isinstance(e, ev.OutputStarted)]
    assert [event.output for event in started] == [0, 1]


def test_a_finish_reason_that_means_an_error_fails_the_turn() -> None:
    end = events_of(sse({"generations": [{"text": "a", "finish_reason": "ERROR"}]}, done=False))[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == "server"

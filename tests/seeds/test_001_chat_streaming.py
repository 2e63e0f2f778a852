"""Seed 001, Chat Completions streaming: its six scenarios and its behavioural
postconditions, by name. Where our design decides otherwise, the test says so."""

from __future__ import annotations

import pytest

from headrace import events as ev
from headrace.outcome import END_TURN, TOOL_USE
from headrace.wire.decoder import Decoder
from tests.wire import chunk, events_of, kinds, only, sse


def call(index: int, arguments: str, **first: str) -> dict[str, object]:
    function = {"arguments": arguments} | ({"name": first["name"]} if first else {})
    entry = {"index": index, "function": function}
    if first:
        entry |= {"id": first["id"], "type": "function"}
    return {"tool_calls": [entry]}


TWO_CALLS = sse(
    chunk(call(0, "", id="a", name="first")),
    chunk(call(0, '{"x":')),
    chunk(call(0, "1}")),
    chunk(call(1, "{}", id="b", name="second")),
    chunk({}, finish="tool_calls"),
)


# --- test scenarios ---------------------------------------------------------------


def test_scenario_simple_text_stream() -> None:
    events = events_of(
        sse(
            chunk({"role": "assistant"}),
            chunk({"content": "Hel"}),
            chunk({"content": "lo"}),
            chunk({}, finish="stop"),
        )
    )
    assert kinds(events) == [
        "TurnStarted",
        "OutputStarted",
        "TextStarted",
        "TextDelta",
        "TextDelta",
        "TextFinished",
        "OutputFinished",
        "TurnFinished",
    ]
    assert [delta.text for delta in only(events, ev.TextDelta)] == ["Hel", "lo"]
    assert only(events, ev.TurnFinished)[0].reason == END_TURN


def test_scenario_tool_call_stream() -> None:
    events = events_of(
        sse(
            chunk(call(0, "", id="call_1", name="get_weather")),
            chunk(call(0, '{"city":')),
            chunk(call(0, '"Paris"}')),
            chunk({}, finish="tool_calls"),
        )
    )
    calls = [event for event in events if type(event).__name__.startswith("ToolCall")]
    assert kinds(calls) == [
        "ToolCallStarted",
        "ToolCallArgsDelta",
        "ToolCallArgsDelta",
        "ToolCallFinished",
    ]
    assert calls[-1] == ev.ToolCallFinished(
        part=0, call_id="call_1", name="get_weather", args={"city": "Paris"}, raw='{"city":"Paris"}'
    )


def test_scenario_multiple_tool_calls() -> None:
    """The first call is completed before the second starts."""
    calls = [event for event in events_of(TWO_CALLS) if type(event).__name__.startswith("ToolCall")]
    assert kinds(calls) == [
        "ToolCallStarted",
        "ToolCallArgsDelta",
        "ToolCallArgsDelta",
        "ToolCallFinished",
        "ToolCallStarted",
        "ToolCallArgsDelta",
        "ToolCallFinished",
    ]
    assert [call.call_id for call in only(calls, ev.ToolCallFinished)] == ["a", "b"]


def test_scenario_usage_in_final_chunk() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    decoder = Decoder("chat")
    events = decoder.feed(
        sse(chunk({"content": "hi"}), chunk({}, finish="stop"), {"choices": [], "usage": usage})
    )
    told = only(events, ev.TurnFinished)[0].usage
    assert (told.input_tokens, told.output_tokens, told.total_tokens) == (10, 5, 15)
    assert told.reasoning_tokens == 3
    assert decoder.usage == told


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("authentication_error", "auth"),
        ("rate_limit_error", "rate_limit"),
        ("server_error", "server"),
        ("what_is_this", "unknown"),
    ],
)
def test_scenario_error_in_stream(kind: str, category: str) -> None:
    """By whole words of code and type, never by a substring (decision 7)."""
    events = events_of(sse(chunk({"content": "hi"}), {"error": {"message": "no", "type": kind}}))
    failed = only(events, ev.TurnFailed)
    assert [(event.category, event.message) for event in failed] == [(category, "no")]
    assert kinds(events)[-3:] == ["TextFinished", "OutputFinished", "TurnFailed"]


def test_scenario_done_marker() -> None:
    """[DONE] ends the call that is open; without a finish reason the turn is
    `other("")`, never a quiet success (decision 3)."""
    events = events_of(sse(chunk(call(0, "{}", id="a", name="f"))))
    assert kinds(events)[-3:] == ["ToolCallFinished", "OutputFinished", "TurnFinished"]
    assert str(only(events, ev.TurnFinished)[0].reason) == "other()"


# --- behavioural postconditions ---------------------------------------------------


def test_handles_data_only_sse_without_event_names() -> None:
    data = sse(chunk({"content": "hi"}, finish="stop"))
    assert b"event:" not in data
    assert only(events_of(data), ev.TextDelta)[0].text == "hi"


def test_done_terminates_the_stream_and_what_follows_is_ignored() -> None:
    decoder = Decoder("chat")
    events = decoder.feed(
        sse(chunk({"content": "a"}, finish="stop")) + sse(chunk({"content": "b"}))
    )
    events += decoder.close()
    assert [delta.text for delta in only(events, ev.TextDelta)] == ["a"]
    assert decoder.ignored_frames == 2


def test_start_is_emitted_once_with_the_model_of_the_first_chunk() -> None:
    events = events_of(sse(chunk({"content": "a"}), chunk({"content": "b"}, finish="stop")))
    assert only(events, ev.TurnStarted) == [
        ev.TurnStarted(dialect="chat", model="m1", response_id="r1")
    ]


def test_text_ends_a_call_whose_arguments_are_whole() -> None:
    events = events_of(
        sse(
            chunk(call(0, '{"a":1}', id="a", name="f")),
            chunk({"content": "done"}),
            chunk({}, finish="stop"),
        )
    )
    names = kinds(events)
    assert names.index("ToolCallFinished") < names.index("TextStarted")


def test_text_does_not_end_a_call_whose_arguments_are_not_whole() -> None:
    """Here the document would lose the rest of the call (guarantee 2)."""
    events = events_of(
        sse(
            chunk(call(0, '{"a":', id="a", name="f")),
            chunk({"content": "hm"}),
            chunk(call(0, "1}")),
            chunk({}, finish="tool_calls"),
        )
    )
    assert only(events, ev.ToolCallFinished)[0].args == {"a": 1}
    assert only(events, ev.TextDelta)[0].text == "hm"


def test_malformed_chunks_are_skipped_and_counted() -> None:
    """Skipped, as the document wants, but not silently (decision 5)."""
    data = sse(chunk({"content": "a"}), b"data: {oops\n\n", chunk({"content": "b"}, finish="stop"))
    events = events_of(data)
    assert [delta.text for delta in only(events, ev.TextDelta)] == ["a", "b"]
    assert only(events, ev.TurnFinished)[0].skipped_frames == 1


def test_the_finish_reason_is_mapped_and_kept_raw() -> None:
    finished = only(events_of(TWO_CALLS), ev.TurnFinished)[0]
    assert (finished.reason, finished.raw_reason) == (TOOL_USE, "tool_calls")


def test_finish_reason_and_usage_can_be_asked_at_any_time() -> None:
    decoder = Decoder("chat")
    assert decoder.finish is None
    assert decoder.usage.input_tokens is None
    decoder.feed(sse(chunk({"content": "hi"}, finish="stop"), done=False))
    assert decoder.message.text == "hi"
    decoder.close()
    assert decoder.finish == END_TURN

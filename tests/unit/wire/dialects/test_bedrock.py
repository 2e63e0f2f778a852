"""Converse streams: blocks with and without a start, provider-run tools, usage and guardrails."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.content import JSONContent, TextContent
from headrace.errors import LimitExceeded
from headrace.messages import CallPart, ReasoningPart, TextPart
from headrace.wire.limits import WireLimits
from tests.aws import aws_chunks, aws_event, aws_events, aws_exception
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, only, single_bytes, sse

START = {"messageStart": {"role": "assistant"}}


def stopped(reason: str = "end_turn") -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason}}


def begin(index: int, **start: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


def stop(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def decode(*events: dict[str, Any], reason: str = "end_turn", **options: Any) -> list[ev.TurnEvent]:
    """The events of a message with this inside: the same wrapped, and in AWS messages."""
    return decode_raw(START, *events, stopped(reason), **options)


def decode_raw(*events: dict[str, Any], **options: Any) -> list[ev.TurnEvent]:
    decoded = events_of(aws_events(*events), framing="aws-event-stream", **options)
    check_grammar(decoded)
    assert events_of(sse(*events, done=False), **options) == decoded
    return decoded


def parts(*events: dict[str, Any], **options: Any) -> list[Any]:
    return list(message_of(decode(*events, **options)).turns[0].parts)


def end_of(events: list[ev.TurnEvent]) -> Any:
    return events[-1]


# -- blocks


def test_text_needs_no_start_of_its_block() -> None:
    (part,) = parts(delta(0, text="Hel"), delta(0, text=""), delta(0, text="lo"), stop(0))
    assert isinstance(part, TextPart)
    assert part.text == "Hello"


def test_each_block_is_a_part() -> None:
    found = parts(delta(0, text="a"), stop(0), delta(1, text="b"), stop(1))
    assert [part.text for part in found] == ["a", "b"]


def test_nova_begins_a_block_with_every_delta_of_the_same_text() -> None:
    data = aws_chunks(
        START,
        *(event for n, text in enumerate("abc") for event in (delta(n, text=text), stop(n))),
        begin(3, toolUse={"toolUseId": "t", "name": "f"}),
        delta(3, toolUse={"input": "{}"}),
        stop(3),
        delta(4, text="d"),
        stopped("tool_use"),
    )
    events = events_of(data, framing="aws-event-stream")
    check_grammar(events)
    parts = message_of(events).turns[0].parts
    assert [part.text for part in parts if isinstance(part, TextPart)] == ["abc", "d"]


def test_reasoning_is_signed() -> None:
    reasoning, text = parts(
        delta(0, reasoningContent={"text": "Hm"}),
        delta(0, reasoningContent={"text": "m."}),
        delta(0, reasoningContent={"signature": "sig"}),
        stop(0),
        delta(1, text="Yes"),
    )
    assert isinstance(reasoning, ReasoningPart)
    assert (reasoning.text, reasoning.signature, text.text) == ("Hmm.", "sig", "Yes")


def test_a_signature_without_text_is_a_part_that_must_be_sent_back() -> None:
    (part,) = parts(delta(0, reasoningContent={"signature": "sig"}), stop(0))
    assert (part.text, part.signature) == ("", "sig")


def test_pieces_of_redacted_reasoning_are_one_block() -> None:
    events = decode(
        delta(0, reasoningContent={"redactedContent": "YQ=="}),
        delta(0, reasoningContent={"redactedContent": "Yg=="}),
        stop(0),
        delta(1, reasoningContent={"redactedContent": "Yw=="}),
    )
    assert [event.data for event in only(events, ev.ReasoningRedacted)] == ["YWI=", "Yw=="]


def test_calls_are_for_the_client_unless_their_type_says_otherwise() -> None:
    ours, theirs = parts(
        begin(0, toolUse={"toolUseId": "t1", "name": "f"}),
        delta(0, toolUse={"input": '{"a":'}),
        delta(0, toolUse={"input": "1}"}),
        stop(0),
        begin(1, toolUse={"toolUseId": "t2", "name": "g", "type": "server_tool_use"}),
        delta(1, toolUse={"input": "{}"}),
        stop(1),
        reason="tool_use",
    )
    assert isinstance(ours, CallPart)
    assert (ours.call_id, ours.name, ours.args, ours.executor) == ("t1", "f", {"a": 1}, "client")
    assert (theirs.call_id, theirs.executor) == ("t2", "provider")


def test_a_call_without_arguments_has_an_empty_object() -> None:
    (call,) = parts(begin(0, toolUse={"toolUseId": "t", "name": "f"}), stop(0), reason="tool_use")
    assert (call.args, call.error) == ({}, None)


def test_the_result_of_a_tool_that_bedrock_runs_comes_whole() -> None:
    (output,) = only(
        decode(
            begin(0, toolResult={"toolUseId": "t", "status": "error", "type": "r"}),
            delta(0, toolResult=[{"text": "oops"}]),
            delta(0, toolResult=[{"json": {"exitCode": 1}}, {"odd": 1}]),
            stop(0),
        ),
        ev.ToolOutput,
    )
    assert output.call_id == "t"
    assert output.is_error
    assert output.provider_data == {"type": "r"}
    assert output.content == (
        TextContent("oops"),
        JSONContent({"exitCode": 1}),
        JSONContent({"odd": 1}),
    )


def test_an_image_is_media() -> None:
    (media,) = only(
        decode(
            begin(0, image={"format": "webp"}),
            delta(0, image={"source": {"bytes": "YQ=="}}),
            delta(0, image={"source": {"bytes": "Yg=="}}),
            stop(0),
        ),
        ev.MediaProduced,
    )
    assert (media.media_type, media.data) == ("image/webp", "YWI=")


def test_citations_follow_the_text_even_if_they_come_first() -> None:
    location = {"web": {"url": "https://a", "domain": "a"}}
    events = decode(
        delta(0, citation={"title": "t", "location": location, "sourceContent": [{"text": "q"}]}),
        delta(0, text="a"),
        delta(0, citation={"source": "s", "location": {"documentChar": {"start": 1}}}),
        stop(0),
        delta(1, citation={"source": "alone"}),
    )
    first, second, alone = only(events, ev.CitationAdded)
    (text,) = only(events, ev.TextStarted)
    assert (first.part, first.ref, first.title, first.quote) == (text.part, "https://a", "t", "q")
    assert (second.part, second.source, second.ref) == (text.part, "documentChar", "s")
    assert (alone.part, alone.ref) == (None, "alone")


def test_what_is_not_known_is_kept() -> None:
    events = decode(begin(0, odd={"a": 1}), delta(0, strange={"b": 2}), stop(0))
    assert [(item.kind, item.data) for item in only(events, ev.OpaqueItem)] == [
        ("odd", '{"odd":{"a":1}}'),
        ("strange", '{"strange":{"b":2}}'),
    ]


def test_a_call_of_a_cut_stream_is_malformed() -> None:
    events = decode_raw(
        START,
        begin(0, toolUse={"toolUseId": "t", "name": "f"}),
        delta(0, toolUse={"input": '{"a":'}),
    )
    assert only(events, ev.ToolCallMalformed)
    assert end_of(events).category == "incomplete"


# -- the end


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end_turn"),
        ("tool_use", "tool_use"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("model_context_window_exceeded", "context_full"),
        ("malformed_tool_use", "other"),
    ],
)
def test_the_stop_reason(word: str, reason: str) -> None:
    end = end_of(decode(delta(0, text="a"), reason=word))
    assert (end.reason.word, end.raw_reason) == (reason, word)


def test_metadata_ends_the_turn_at_once() -> None:
    data = aws_events(START, delta(0, text="a"), stopped(), {"metadata": {"usage": {}}})
    end = events_of(data + aws_event("contentBlockDelta", {}), framing="aws-event-stream")[-1]
    assert isinstance(end, ev.TurnFinished)


def test_usage_includes_the_cache() -> None:
    usage = {
        "inputTokens": 3,
        "outputTokens": 5,
        "totalTokens": 38,
        "cacheReadInputTokens": 10,
        "cacheWriteInputTokens": 20,
        "cacheDetails": [{"ttl": "5m", "inputTokens": 15}, {"ttl": "1h", "inputTokens": 5}],
    }
    found = end_of(decode_raw(START, stopped(), {"metadata": {"usage": usage}})).usage
    assert (found.input_tokens, found.output_tokens, found.total_tokens) == (33, 5, 38)
    assert (found.cached_input_tokens, found.cache_creation_input_tokens) == (10, 20)
    assert (found.cache_creation_5m_tokens, found.cache_creation_1h_tokens) == (15, 5)


def test_the_total_tells_that_the_cache_is_included_already() -> None:
    usage = {"inputTokens": 13, "outputTokens": 5, "totalTokens": 18, "cacheReadInputTokens": 10}
    found = end_of(decode_raw(START, stopped(), {"metadata": {"usage": usage}})).usage
    assert (found.input_tokens, found.cached_input_tokens) == (13, 10)


def test_what_else_is_told_is_provider_data() -> None:
    guardrail = {"guardrail": {"actionReason": "a"}}
    end = end_of(
        decode_raw(
            START,
            {"messageStop": {"stopReason": "end_turn", "additionalModelResponseFields": {"x": 1}}},
            {
                "metadata": {
                    "usage": {},
                    "metrics": {"latencyMs": 5},
                    "trace": guardrail,
                    "serviceTier": {"type": "flex"},
                    "p": "abc",
                }
            },
        )
    )
    assert end.service_tier == "flex"
    assert end.provider_data == {
        "additionalModelResponseFields": {"x": 1},
        "metrics": {"latencyMs": 5},
        "trace": guardrail,
    }


# -- errors


def test_an_exception_after_text_fails_the_turn() -> None:
    begun = aws_events(START, delta(0, text="a"))
    data = begun + aws_exception("modelStreamErrorException", b'{"message":"boom"}')
    for reads in ([data], single_bytes(data)):
        events = events_of(reads, framing="aws-event-stream")
        check_grammar(events)
        end = end_of(events)
        assert (end.category, end.message, end.retryable) == ("server", "boom", True)
        assert message_of(events).text == "a"


def test_a_wrapped_exception_fails_the_turn() -> None:
    payload = {"throttlingException": {"message": "slow down"}}
    end = end_of(events_of(sse(START, payload, done=False)))
    assert (end.category, end.code) == ("rate_limit", "throttlingException")


def test_blocks_without_text_are_limited_too() -> None:
    limits = WireLimits(max_parts=3)
    events = events_of(
        sse(START, *(begin(n, toolResult={"toolUseId": "t"}) for n in range(9)), done=False),
        wire_limits=limits,
    )
    assert str(LimitExceeded("max_parts", 3)) in end_of(events).message

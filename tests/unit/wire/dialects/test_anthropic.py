"""Messages streams: blocks in order, out of order, unknown, cut and spliced."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.content import JSONContent
from headrace.messages import CallPart, ReasoningPart
from headrace.usage import Usage
from tests.grammar import check_grammar
from tests.wire import events_of, kinds, message_of, only, sse

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "model": "claude",
        "usage": {"input_tokens": 10, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def ending(reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **more}


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def decode(*events: Any, **options: Any) -> list[ev.TurnEvent]:
    """The events of a whole message with this inside; checked for grammar."""
    return decode_raw(START, *events, ending(), STOP, **options)


def decode_raw(*events: Any, **options: Any) -> list[ev.TurnEvent]:
    decoded = events_of(sse(*events, done=False, names=True), "anthropic", **options)
    check_grammar(decoded)
    return decoded


def parts(*events: Any) -> list[Any]:
    return list(message_of(decode(*events)).turns[0].parts)


TOOL = {"type": "tool_use", "id": "t1", "name": "f"}


def test_a_message_with_thinking_text_and_a_call() -> None:
    events = decode_raw(
        START,
        block(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="sig"),
        stop(0),
        {"type": "ping"},
        block(1, type="text", text=""),
        delta(1, "text_delta", text="yes"),
        stop(1),
        block(2, **TOOL, input={}),
        delta(2, "input_json_delta", partial_json=""),
        delta(2, "input_json_delta", partial_json='{"x":1}'),
        stop(2),
        ending("tool_use", usage={"output_tokens": 9}),
        STOP,
    )
    assert kinds(events) == [
        "TurnStarted",
        "OutputStarted",
        "ReasoningStarted",
        "ReasoningDelta",
        "ReasoningFinished",
        "TextStarted",
        "TextDelta",
        "TextFinished",
        "ToolCallStarted",
        "ToolCallArgsDelta",
        "ToolCallFinished",
        "OutputFinished",
        "TurnFinished",
    ]
    assert only(events, ev.ReasoningFinished)[0].signature == "sig"
    assert only(events, ev.ToolCallFinished)[0].args == {"x": 1}
    finished = only(events, ev.TurnFinished)[0]
    assert str(finished.reason) == "tool_use"
    assert finished.usage == Usage(input_tokens=10, output_tokens=9)
    assert only(events, ev.TurnStarted)[0].response_id == "msg_1"


def test_omitted_thinking_with_a_signature_only_is_a_part() -> None:
    (thought,) = parts(
        block(0, type="thinking", thinking=""),
        delta(0, "thinking_delta", thinking=""),
        delta(0, "signature_delta", signature="sig"),
        stop(0),
    )
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.signature) == ("", "sig")


def test_redacted_thinking_comes_whole() -> None:
    (sealed,) = parts(block(0, type="redacted_thinking", data="xyz"), stop(0))
    assert sealed.data == "xyz"


def test_words_in_the_start_block_are_not_lost() -> None:
    text, thought = parts(
        block(0, type="text", text="a"),
        delta(0, "text_delta", text="b"),
        stop(0),
        block(1, type="thinking", thinking="hm", signature="sig"),
        stop(1),
    )
    assert text.text == "ab"
    assert (thought.text, thought.signature) == ("hm", "sig")


def test_empty_blocks_open_nothing() -> None:
    assert parts(block(0, type="text", text=""), stop(0)) == []


def test_input_in_the_start_block_is_taken_as_written() -> None:
    frame = (
        b'data: {"type":"content_block_start","index":0,"content_block":'
        b'{"type":"tool_use","id":"t1","name":"f","input":{"x": 1.50}}}\n\n'
    )
    (call,) = parts(frame, stop(0))
    assert (call.raw, call.args) == ('{"x": 1.50}', {"x": 1.5})


def test_input_in_deltas_wins_over_the_placeholder() -> None:
    (call,) = parts(
        block(0, **TOOL, input={"x": 0}),
        delta(0, "input_json_delta", partial_json='{"x":1}'),
        stop(0),
    )
    assert call.args == {"x": 1}


def test_a_call_without_input_is_an_empty_object() -> None:
    (call,) = parts(block(0, **TOOL, input={}), stop(0))
    assert (call.args, call.error) == ({}, None)


def test_a_call_that_never_stopped_is_malformed_in_a_cut_stream() -> None:
    events = decode_raw(START, block(0, **TOOL, input={}))
    assert only(events, ev.ToolCallMalformed)[0].raw == ""
    assert only(events, ev.TurnFailed)[0].category == "incomplete"


def test_server_tools_are_the_providers_and_their_results_are_parts() -> None:
    content = [{"type": "web_search_result", "url": "u", "encrypted_content": "e"}]
    call, result = parts(
        block(0, type="server_tool_use", id="s1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"query":"q"}'),
        stop(0),
        block(1, type="web_search_tool_result", tool_use_id="s1", content=content),
        stop(1),
    )
    assert (call.executor, call.args) == ("provider", {"query": "q"})
    assert call.provider_data == {"type": "server_tool_use"}
    assert (result.call_id, result.content) == ("s1", (JSONContent(content),))
    assert result.provider_data == {"type": "web_search_tool_result"}
    assert not result.is_error


def test_mcp_blocks_keep_their_server_and_failed_results_are_errors() -> None:
    call, failed, refused = parts(
        block(0, type="mcp_tool_use", id="m1", name="echo", input={}, server_name="srv"),
        stop(0),
        block(1, type="mcp_tool_result", tool_use_id="m1", is_error=True, content=[]),
        stop(1),
        block(2, type="x_tool_result", tool_use_id="m1", content={"type": "x_tool_result_error"}),
        stop(2),
    )
    assert call.provider_data == {"type": "mcp_tool_use", "server_name": "srv"}
    assert failed.is_error
    assert refused.is_error


def test_the_caller_of_a_tool_is_kept_for_replay() -> None:
    (call,) = parts(block(0, **TOOL, input={}, caller={"type": "direct"}), stop(0))
    assert call.provider_data == {"type": "tool_use", "caller": {"type": "direct"}}


def test_unknown_blocks_are_kept_byte_for_byte() -> None:
    frame = (
        b'data: {"type":"content_block_start","index":0,'
        b'"content_block":{"type":"fallback", "n": 1.0, "to":{"model":"x"}}}\n\n'
    )
    (odd,) = parts(frame, stop(0))
    assert (odd.kind, odd.data) == ("fallback", '{"type":"fallback", "n": 1.0, "to":{"model":"x"}}')


def test_unknown_blocks_grow_with_their_deltas() -> None:
    (odd,) = parts(
        block(0, type="compaction", content=None, tags=["a"]),
        delta(0, "compaction_delta", content="sum"),
        delta(0, "compaction_delta", content="mary", tags=["b"]),
        stop(0),
    )
    assert odd.kind == "compaction"
    assert '"content":"summary","tags":["a","b"]' in odd.data


def test_an_unknown_block_without_its_stop_is_not_lost() -> None:
    for tail in ((), ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}},)):
        events = decode_raw(START, block(0, type="odd", n=1), *tail)
        assert only(events, ev.OpaqueItem)[0].kind == "odd"


def test_citations_find_their_text_also_when_they_come_first() -> None:
    citation = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "q"}
    events = decode(
        block(0, type="text", text=""),
        delta(0, "text_delta", text="other"),
        stop(0),
        block(1, type="text", text="", citations=[]),
        delta(1, "citations_delta", citation=citation),
        delta(1, "text_delta", text="cited"),
        delta(1, "citations_delta", citation=citation),
        stop(1),
    )
    found = only(events, ev.CitationAdded)
    assert [(c.part, c.ref, c.title, c.quote) for c in found] == [(1, "u", "t", "q")] * 2


def test_overlapping_blocks_lose_nothing() -> None:
    first, second, third = parts(
        block(0, type="text", text=""),
        block(1, type="text", text=""),
        delta(0, "text_delta", text="a"),
        delta(1, "text_delta", text="x"),
        delta(0, "text_delta", text="b"),
        stop(1),
        stop(0),
    )
    assert [part.text for part in (first, second, third)] == ["a", "x", "b"]
    assert first.item == third.item != second.item


def test_a_stop_and_signature_after_the_next_blocks_deltas() -> None:
    thought, answer = parts(
        block(0, type="thinking", thinking=""),
        delta(0, "thinking_delta", thinking="hm"),
        block(1, type="text", text=""),
        delta(1, "text_delta", text="yes"),
        delta(0, "signature_delta", signature="late"),
        stop(0),
        delta(1, "text_delta", text="!"),
        stop(1),
    )
    assert (thought.text, thought.signature, answer.text) == ("hm", "late", "yes!")


def test_a_second_message_start_splices_a_new_stream_in() -> None:
    found = parts(
        block(0, **TOOL, input={}),
        delta(0, "input_json_delta", partial_json='{"x":"Spa'),
        START,
        block(0, **TOOL | {"id": "t2"}, input={}),
        delta(0, "input_json_delta", partial_json='{"x":2}'),
        stop(0),
    )
    assert [isinstance(part, CallPart) for part in found] == [True, True]
    assert (found[0].raw, found[0].error is None) == ('{"x":"Spa', False)
    assert (found[1].call_id, found[1].args) == ("t2", {"x": 2})


def test_deltas_without_a_start_are_not_lost() -> None:
    text, call = parts(
        delta(0, "text_delta", text="a"), delta(1, "input_json_delta", partial_json="{}")
    )
    assert text.text == "a"
    assert "no name" in call.error


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("refusal", "content_filter"),
        ("pause_turn", "paused"),
        ("model_context_window_exceeded", "context_full"),
        ("brand_new", "other(brand_new)"),
    ],
)
def test_stop_reasons(word: str, reason: str) -> None:
    finished = only(decode_raw(START, ending(word), STOP), ev.TurnFinished)[0]
    assert (str(finished.reason), finished.raw_reason) == (reason, word)


def test_cache_counters_with_both_ttls_are_part_of_the_input() -> None:
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "output_tokens": 1,
        "service_tier": "priority",
    }
    start = {"type": "message_start", "message": {"id": "m", "usage": usage}}
    zero = {"input_tokens": 0, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}}
    finished = only(decode_raw(start, ending(usage=zero), STOP), ev.TurnFinished)[0]
    assert finished.service_tier == "priority"
    assert finished.usage == Usage(
        input_tokens=135,
        output_tokens=7,
        reasoning_tokens=3,
        cached_input_tokens=100,
        cache_creation_input_tokens=30,
        cache_creation_5m_tokens=10,
        cache_creation_1h_tokens=20,
    )


def test_what_stands_beside_the_message_is_kept() -> None:
    last = ending(context_management={"applied_edits": [1]}, usage={"server_tool_use": {"n": 1}})
    last["delta"] |= {"stop_sequence": "END", "container": {"id": "c"}, "stop_details": None}
    finished = only(decode_raw(START, last, {**STOP, "metrics": {"ms": 1}}), ev.TurnFinished)[0]
    assert finished.provider_data == {
        "context_management": {"applied_edits": [1]},
        "stop_sequence": "END",
        "container": {"id": "c"},
        "server_tool_use": {"n": 1},
        "metrics": {"ms": 1},
    }


@pytest.mark.parametrize(
    ("frame", "category"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "overloaded"),
        (b'event: error\ndata: {"error":{"type":"api_error","message":"x"}}\n\n', "server"),
        (b"event: error\ndata: x\n\n", "unknown"),
    ],
)
def test_error_events_fail_the_turn_and_keep_what_came(frame: Any, category: str) -> None:
    events = decode_raw(
        START, block(0, type="text", text=""), delta(0, "text_delta", text="a"), frame
    )
    failed = only(events, ev.TurnFailed)[0]
    assert (failed.category, failed.message) == (category, "x")
    assert failed.usage.input_tokens == 10
    assert message_of(events).text == "a"


def test_a_cut_stream_is_never_a_success() -> None:
    events = decode_raw(START, block(0, type="text", text=""), delta(0, "text_delta", text="a"))
    assert only(events, ev.TurnFailed)[0].category == "incomplete"


def test_the_type_may_stand_in_the_event_name_alone() -> None:
    data = b'{"index":0,"delta":{"type":"text_delta","text":"a"}}'
    frame = b"event: content_block_delta\ndata: %s\n\n" % data
    assert parts(frame)[0].text == "a"


def test_done_sentinels_and_unknown_events_do_no_harm() -> None:
    events = decode_raw(START, {"type": "brand_new"}, ending(), STOP, b"data: [DONE]\n\n")
    assert only(events, ev.TurnFinished)[0].skipped_frames == 0


# --- what a reviewer found --------------------------------------------------------


def test_an_error_without_its_type_is_no_quiet_success() -> None:
    error = b'data: {"error":{"type":"overloaded_error","message":"x"}}\n\n'
    events = decode_raw(START, error, b"data: [DONE]\n\n")
    assert only(events, ev.TurnFailed)[0].category == "overloaded"


def test_deltas_without_a_type_and_unknown_ones_are_not_lost() -> None:
    text, odd = parts(
        block(0, type="text", text=""),
        {"type": "content_block_delta", "index": 0, "delta": {"text": "a"}},
        delta(0, "brand_new_delta", n=1),
        stop(0),
    )
    assert text.text == "a"
    assert odd.kind == "brand_new_delta"


def test_citations_of_a_block_that_never_got_text_are_the_messages() -> None:
    events = decode(
        block(0, type="text", text=""),
        delta(0, "citations_delta", citation={"type": "char_location", "cited_text": "q"}),
        stop(0),
    )
    (citation,) = only(events, ev.CitationAdded)
    assert (citation.part, citation.quote) == (None, "q")

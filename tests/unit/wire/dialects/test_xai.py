"""xAI's chunks: an agent's steps in one turn, or candidates, as bytes and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2, sample_pb2

from headrace import ChatQuirks
from headrace import events as ev
from headrace.content import TextContent
from headrace.events import Record
from headrace.messages import fold_candidates
from headrace.outcome import (
    CONTEXT_FULL,
    END_TURN,
    MAX_TOKENS,
    TIME_LIMIT,
    TOOL_USE,
    FinishReason,
    other_reason,
)
from headrace.usage import Usage
from headrace.wire.decoder import Decoder
from headrace.wire.framing.grpc import add_prefix
from headrace.wire.limits import WireLimits
from tests.grammar import check_grammar
from tests.wire import events_of, kinds, message_of, only, random_cuts, single_bytes, sse
from tests.xai import (
    as_grpc,
    as_json,
    call,
    chunk,
    output,
    seed_trace,
    two_candidates,
    usage,
)

STOP = chunk(output(0, "REASON_STOP"))


def decoded(*chunks: Any, **options: Any) -> list[ev.TurnEvent]:
    """The events of chunks. As JSON, in any spelling, they are the same; and legal anyhow."""
    data = as_grpc(chunks)
    events = events_of(data, framing="grpc", **options)
    check_grammar(events)
    for spelling in ({}, {"preserving_proto_field_name": True, "use_integers_for_enums": True}):
        payloads = as_json(chunks, **spelling)
        assert events_of(sse(*payloads, done=False), "xai", **options) == events
    return events


def text_of(events: list[ev.TurnEvent], number: int | None = None) -> str:
    parts = {start.part for start in only(events, ev.TextStarted) if number in (None, start.output)}
    return "".join(delta.text for delta in only(events, ev.TextDelta) if delta.part in parts)


def failure(events: list[ev.TurnEvent]) -> ev.TurnFailed:
    end = events[-1]
    assert isinstance(end, ev.TurnFailed)
    return end


def finish(events: list[ev.TurnEvent]) -> ev.TurnFinished:
    end = events[-1]
    assert isinstance(end, ev.TurnFinished), end
    return end


# --- a whole turn -----------------------------------------------------------------


def test_the_trace_of_an_agent_is_one_turn_with_its_outputs_in_order() -> None:
    events = decoded(*seed_trace())
    started = events[0]
    assert isinstance(started, ev.TurnStarted)
    assert (started.model, started.response_id) == ("grok-4-0709", "r-1")
    assert started.outputs == "successive"
    outputs = [(o.output, o.role) for o in only(events, ev.OutputStarted)]
    assert outputs == [(0, "assistant"), (1, "tool"), (2, "tool"), (3, "assistant")]
    assert [call.name for call in only(events, ev.ToolCallFinished)] == ["x_keyword_search"] * 2
    assert [a.call_id for a in only(events, ev.ToolActivity)] == ["c-1", "c-2"]
    assert [o.call_id for o in only(events, ev.ToolOutput)] == ["c-1", "c-2"]
    assert text_of(events, 3) == text_of(events)
    assert text_of(events).startswith("### Last Two Tweets")
    end = finish(events)
    assert (end.reason, end.raw_reason) == (END_TURN, "REASON_STOP")


def test_an_output_ends_at_its_own_finish() -> None:
    names = kinds(decoded(*seed_trace()))
    assert names.index("OutputFinished") < names.index("TextStarted")
    events = decoded(*two_candidates(), outputs="candidates")
    ends = [event for event in events if isinstance(event, ev.OutputFinished | ev.TextDelta)]
    assert kinds(ends)[-3:] == ["OutputFinished", "TextDelta", "OutputFinished"]


def test_two_that_begin_together_are_candidates() -> None:
    events = decoded(*two_candidates())
    started = events[0]
    assert isinstance(started, ev.TurnStarted)
    assert started.outputs == "candidates"
    assert (text_of(events, 0), text_of(events, 1)) == ("Aa", "Bb")
    records = [Record(n, n, event) for n, event in enumerate(events, 1)]
    messages = fold_candidates(records)
    assert [message.text for message in messages] == ["Aa", "Bb"]
    assert [message.finish for message in messages] == [MAX_TOKENS, END_TURN]


@pytest.mark.parametrize("told", ["candidates", "successive"])
def test_what_the_caller_says_of_the_outputs_stands(told: Any) -> None:
    started = decoded(*two_candidates(), outputs=told)[0]
    assert isinstance(started, ev.TurnStarted)
    assert started.outputs == told


def test_candidates_that_come_one_by_one_must_be_told() -> None:
    chunks = [chunk(output(n, "REASON_STOP", content=str(n))) for n in (0, 1)]
    assert decoded(*chunks)[0].outputs == "successive"  # type: ignore[union-attr]
    assert decoded(*chunks, outputs="candidates")[0].outputs == "candidates"  # type: ignore[union-attr]
    events = decoded(chunks[0], chunk(output(1, content="b")), outputs="candidates")
    assert failure(events).category == "incomplete"


def test_other_grammars_keep_their_candidates() -> None:
    started = events_of(sse({"choices": [{"delta": {"content": "a"}}]}))[0]
    assert isinstance(started, ev.TurnStarted)
    assert started.outputs == "candidates"


def test_several_outputs_in_one_chunk_gaps_and_interleaving() -> None:
    events = decoded(
        chunk(output(0, tool_calls=[call("c", "{}")])),
        chunk(
            output(0, "REASON_TOOL_CALLS"),
            output(4, role="ROLE_TOOL", content="found", tool_calls=[call("c", status="FAILED")]),
            output(7, content="so "),
        ),
        chunk(output(9, reasoning_content="hm")),
        chunk(output(7, "REASON_STOP", content="it is")),
        chunk(output(9, "REASON_STOP", content="!")),
    )
    assert [o.output for o in only(events, ev.OutputStarted)] == [0, 4, 7, 9]
    assert (text_of(events, 7), text_of(events, 9)) == ("so it is", "!")
    (made,) = only(events, ev.ToolOutput)
    assert (made.content, made.is_error) == ((TextContent("found"),), True)
    assert finish(events).reason == END_TURN


def test_a_delta_says_reasoning_text_calls_sources_and_its_end_in_that_order() -> None:
    events = decoded(
        chunk(
            output(
                0,
                "REASON_TOOL_CALLS",
                reasoning_content="a",
                content="b",
                tool_calls=[call("c", '{"d":1}', type="CLIENT_SIDE", name="f")],
                citations=[chat_pb2.InlineCitation(id="1", web_citation={"url": "u"})],
            )
        )
    )
    assert kinds(events) == [
        *("TurnStarted", "OutputStarted", "ReasoningStarted", "ReasoningDelta"),
        *("ReasoningFinished", "TextStarted", "TextDelta", "TextFinished"),
        *("ToolCallStarted", "ToolCallArgsDelta", "CitationAdded", "ToolCallFinished"),
        *("OutputFinished", "TurnFinished"),
    ]


def test_empty_deltas_are_nothing() -> None:
    empty = chat_pb2.CompletionOutputChunk(delta=chat_pb2.Delta(content="", tool_calls=[]))
    events = decoded(chunk(empty), chunk(), chunk(chat_pb2.CompletionOutputChunk()), STOP)
    assert kinds(events) == ["TurnStarted", "OutputStarted", "OutputFinished", "TurnFinished"]
    assert only(events, ev.OutputStarted)[0].role == "assistant"


# --- ends -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("REASON_MAX_LEN", MAX_TOKENS),
        ("REASON_MAX_CONTEXT", CONTEXT_FULL),
        ("REASON_STOP", END_TURN),
        ("REASON_TOOL_CALLS", TOOL_USE),
        ("REASON_TIME_LIMIT", TIME_LIMIT),
    ],
)
def test_each_reason_is_one_of_ours(word: str, reason: FinishReason) -> None:
    assert finish(decoded(chunk(output(0, word, content="a")))).reason == reason
    assert sample_pb2.FinishReason.Value(word)


def test_a_reason_that_is_new_is_told_as_it_is() -> None:
    odd = chat_pb2.CompletionOutputChunk.FromString(b"\x18\x63")
    assert finish(decoded(chunk(odd))).reason == other_reason("99")
    payload = {"outputs": [{"index": 0, "finishReason": "REASON_NEW"}]}
    end = finish(events_of(sse(payload, done=False)))
    assert (end.reason, end.raw_reason) == (other_reason("REASON_NEW"), "REASON_NEW")


def test_the_first_reason_stands() -> None:
    later = [output(0), output(0, "REASON_MAX_LEN"), output(0, content="")]
    events = decoded(chunk(output(0, content="a")), STOP, *map(chunk, later))
    assert finish(events).raw_reason == "REASON_STOP"
    assert kinds(events).count("OutputFinished") == 1


@pytest.mark.parametrize(
    "late",
    [
        {"content": "b"},
        {"reasoning_content": "b"},
        {"tool_calls": [call("new", "{}")]},
        {"tool_calls": [call("mine", '{"a":1}', type="CLIENT_SIDE", name="f")]},
    ],
)
def test_what_comes_for_an_output_that_has_ended_is_a_failure_that_is_said(late: Any) -> None:
    first = output(0, tool_calls=[call("mine", "{}", type="CLIENT_SIDE", name="f")])
    events = decoded(chunk(first), STOP, chunk(output(0, **late)))
    assert failure(events).category == "protocol"
    assert "end" in failure(events).message


def test_late_content_for_a_result_that_has_ended_is_said_too() -> None:
    tool: Any = {"role": "ROLE_TOOL", "tool_calls": [call("c", "{}", status="COMPLETED")]}
    ended = chunk(output(1, "REASON_STOP", content="a", **tool))
    for late in ({"content": "b"}, {"encrypted_content": "b"}):
        events = decoded(ended, chunk(output(1, role="ROLE_TOOL", **late)))
        assert "continued after its end" in failure(events).message
    said = chunk(output(1, role="ROLE_TOOL", tool_calls=tool["tool_calls"]))
    assert kinds(decoded(ended, said)).count("ToolOutput") == 1


def test_late_seals_and_sources_are_legal() -> None:
    source = chat_pb2.InlineCitation(id="1", web_citation={"url": "u"})
    thought = chunk(output(0, "REASON_STOP", reasoning_content="a", content="b"))
    late = chunk(output(0, encrypted_content="s", citations=[source]), citations=["v"])
    events = decoded(thought, late)
    assert [(seal.part, seal.value) for seal in only(events, ev.PartSealed)] == [(0, "s")]
    assert [c.ref for c in only(events, ev.CitationAdded)] == ["u", "v"]
    events = decoded(chunk(output(0, "REASON_STOP", content="b")), late)
    assert [(seal.part, seal.value) for seal in only(events, ev.PartSealed)] == [(0, "s")]
    finish(events)


def test_a_cut_behind_calls_that_the_provider_runs_is_a_cut() -> None:
    chunks = seed_trace()
    for cut in range(1, len(chunks)):
        events = decoded(*chunks[:cut])
        assert failure(events).category == "incomplete", cut
        decoder = Decoder(framing="grpc")
        decoder.feed(as_grpc(chunks[:cut]))
        assert not decoder.is_end_known


def test_a_call_of_ours_is_an_end_also_beside_one_that_the_provider_runs() -> None:
    mine = call("c-2", '{"a":1}', type="CLIENT_SIDE", name="f")
    events = decoded(
        chunk(output(0, tool_calls=[call("c-1", "{}"), mine])),
        chunk(output(0, "REASON_TOOL_CALLS")),
        chunk(output(1, role="ROLE_TOOL", tool_calls=[call("c-1", "{}", status="COMPLETED")])),
    )
    assert finish(events).reason == TOOL_USE
    assert [c.executor for c in only(events, ev.ToolCallStarted)] == ["provider", "client"]


def test_a_stop_with_calls_of_ours_is_tool_use() -> None:
    mine = call("c", "{}", type="CLIENT_SIDE", name="f")
    assert finish(decoded(chunk(output(0, tool_calls=[mine])), STOP)).reason == TOOL_USE


# --- calls ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["CLIENT_SIDE", ""])
def test_calls_of_ours(kind: str) -> None:
    mine = call("c", '{"a":1}', type="CLIENT_SIDE", name="f")
    if not kind:
        mine.type = 0
    (started,) = only(decoded(chunk(output(0, tool_calls=[mine])), STOP), ev.ToolCallStarted)
    assert (started.executor, started.name, started.provider_data) == ("client", "f", None)


@pytest.mark.parametrize(
    ("kind", "type"),
    [("WEB_SEARCH", "web_search"), ("MCP", "mcp"), ("CODE_EXECUTION", "code_execution")],
)
def test_calls_that_the_provider_runs_name_their_tool(kind: str, type: str) -> None:
    theirs = call("c", "{}", type=kind)
    (started,) = only(decoded(chunk(output(0, tool_calls=[theirs])), STOP), ev.ToolCallStarted)
    assert (started.executor, started.provider_data) == ("provider", {"type": type})


@pytest.mark.parametrize("kind", ["CLIENT_SIDE", "MCP"])
@pytest.mark.parametrize(
    "pieces",
    [
        ['{"a":1}'],
        ['{"a":', "1}"],
        ['{"a":', '{"a":1}'],
        ["{", '{"a"', '{"a":1', '{"a":1}', '{"a":1}'],
        ['{"a":1}', "", '{"a":1}'],
    ],
)
def test_arguments_come_whole_in_pieces_or_as_snapshots(kind: str, pieces: list[str]) -> None:
    entries = [call("c", piece, type=kind, name="f") for piece in pieces]
    events = decoded(*(chunk(output(0, tool_calls=[entry])) for entry in entries), STOP)
    (made,) = only(events, ev.ToolCallFinished)
    assert (made.raw, made.args) == ('{"a":1}', {"a": 1})


@pytest.mark.parametrize("again", ['{"a": 1, "b": []}', '{ "b":[],"a":1 }', '{"a":1,"b":[]}\n'])
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_call_of_ours_may_be_told_again_in_other_words(again: str, has_ended: bool) -> None:
    first, more = (
        chunk(output(0, tool_calls=[call("c", raw, type="CLIENT_SIDE", name="f")]))
        for raw in ('{"a":1,"b":[]}', again)
    )
    chunks = [first, STOP, more] if has_ended else [first, more, STOP]
    events = decoded(*chunks)
    (made,) = only(events, ev.ToolCallFinished)
    assert made.args == {"a": 1, "b": []}
    finish(events)


def test_a_call_of_ours_without_arguments_may_be_told_again() -> None:
    first, again = (
        chunk(output(0, tool_calls=[call("c", raw, type="CLIENT_SIDE", name="f")]))
        for raw in ("", "{}")
    )
    events = decoded(first, STOP, again)
    assert [made.args for made in only(events, ev.ToolCallFinished)] == [{}]
    finish(events)


@pytest.mark.parametrize("other", ['{"a":true}', '{"a":1.0}', '{"a":2}', '{"a":[1]}', "{}"])
def test_other_arguments_for_a_whole_call_of_ours_are_not_taken_for_the_same(
    other: str,
) -> None:
    entries = [call("c", raw, type="CLIENT_SIDE", name="f") for raw in ('{"a":1}', other)]
    events = decoded(*(chunk(output(0, tool_calls=[entry])) for entry in entries), STOP)
    assert len(only(events, ev.ToolCallMalformed)) == 1


def test_a_call_without_an_id_goes_on_until_another_name() -> None:
    entries = [
        call("", '{"a":', type="CLIENT_SIDE", name="f"),
        call("", "1}", type="CLIENT_SIDE", name=""),
        call("", "{}", type="CLIENT_SIDE", name="g"),
    ]
    events = decoded(*(chunk(output(0, tool_calls=[entry])) for entry in entries), STOP)
    made = [(c.name, c.args) for c in only(events, ev.ToolCallFinished)]
    assert made == [("f", {"a": 1}), ("g", {})]


@pytest.mark.parametrize("status", ["COMPLETED", "INCOMPLETE", "FAILED"])
def test_a_status_is_told_once_with_its_reason(status: str) -> None:
    done = call("c", '{ "a": 1 }', status=status, error_message="why")
    events = decoded(
        chunk(output(0, tool_calls=[call("c", '{"a":1}')])),
        chunk(output(0, tool_calls=[done])),
        chunk(output(1, role="ROLE_TOOL", tool_calls=[done])),
        chunk(output(2, "REASON_STOP", content="a")),
    )
    (activity,) = only(events, ev.ToolActivity)
    assert (activity.status, activity.detail) == (status.lower(), "why")
    (ended,) = only(events, ev.ToolCallFinished)
    assert ended.raw == '{"a":1}'
    assert kinds(events).index("ToolCallFinished") < kinds(events).index("ToolActivity")
    (made,) = only(events, ev.ToolOutput)
    assert (made.output, made.is_error) == (1, status == "FAILED")


def test_a_call_that_is_first_seen_done_is_told_whole() -> None:
    done = call("c", '{"a":1}', status="COMPLETED")
    events = decoded(chunk(output(0, "REASON_STOP", content="b", tool_calls=[done])))
    names = [name for name in kinds(events) if name.startswith("Tool")]
    assert names == ["ToolCallStarted", "ToolCallArgsDelta", "ToolCallFinished", "ToolActivity"]


def test_candidates_have_calls_of_their_own() -> None:
    mine = [call("c", f'{{"n":{n}}}', type="CLIENT_SIDE", name="f") for n in (0, 1)]
    events = decoded(
        chunk(output(0, tool_calls=mine[:1]), output(1, tool_calls=mine[1:])),
        chunk(output(0, "REASON_TOOL_CALLS"), output(1, "REASON_TOOL_CALLS")),
    )
    assert [c.args for c in only(events, ev.ToolCallFinished)] == [{"n": 0}, {"n": 1}]


# --- what tools gave back ---------------------------------------------------------


@pytest.mark.parametrize("role", ["ROLE_TOOL", "ROLE_FUNCTION"])
@pytest.mark.parametrize("end", ["finish", "later output", "end"])
def test_the_content_of_a_result_is_gathered_and_said_when_it_ends(role: str, end: str) -> None:
    tool: Any = {"role": role, "tool_calls": [call("c", status="COMPLETED")]}
    reason = "REASON_STOP" if end == "finish" else "REASON_INVALID"
    chunks = [
        chunk(output(0, "REASON_TOOL_CALLS", tool_calls=[call("c", "{}")])),
        chunk(output(1, content="one ", **tool)),
        chunk(output(1, reason, role=role, content="two", encrypted_content="seal")),
    ]
    if end != "end":
        chunks.append(chunk(output(2, "REASON_STOP", content="so")))
    events = decoded(*chunks)
    (made,) = only(events, ev.ToolOutput)
    assert (made.call_id, made.content) == ("c", (TextContent("one two"),))
    assert made.provider_data == (None if end == "end" else {"encrypted_content": "seal"})
    assert text_of(events) == ("" if end == "end" else "so")
    if end == "later output":
        assert kinds(events).index("ToolOutput") < kinds(events).index("TextStarted")


def test_one_result_may_answer_two_calls() -> None:
    both = [call("a", "{}", status="COMPLETED"), call("b", "{}", status="COMPLETED")]
    events = decoded(
        chunk(output(0, "REASON_TOOL_CALLS", tool_calls=[call("a", "{}"), call("b", "{}")])),
        chunk(output(1, role="ROLE_TOOL", content="found", tool_calls=both)),
        chunk(output(2, "REASON_STOP", content="so")),
    )
    first, second = only(events, ev.ToolOutput)
    assert (first.call_id, first.content) == ("a", (TextContent("found"),))
    assert (second.call_id, second.content, second.item) == ("b", (), first.item)


def test_an_entry_that_names_nothing_goes_on_with_the_result_that_it_is_in() -> None:
    nameless = call("", status="FAILED", name="")
    events = decoded(
        chunk(output(0, "REASON_TOOL_CALLS", tool_calls=[call("c", "{}")])),
        chunk(output(1, role="ROLE_TOOL", content="a", tool_calls=[call("c", "{}")])),
        chunk(output(1, role="ROLE_TOOL", content="b", tool_calls=[nameless])),
        chunk(output(2, "REASON_STOP", content="so")),
    )
    assert [a.status for a in only(events, ev.ToolActivity)] == ["failed"]
    (made,) = only(events, ev.ToolOutput)
    assert (made.call_id, made.content, made.is_error) == ("c", (TextContent("ab"),), True)


def test_an_entry_that_names_nothing_is_no_call_where_none_is_known() -> None:
    nameless = call("", "{}", status="COMPLETED", name="")
    events = decoded(
        chunk(output(1, role="ROLE_TOOL", content="a", tool_calls=[nameless])),
        chunk(output(2, "REASON_STOP", content="so")),
    )
    assert not only(events, ev.ToolCallStarted)
    (made,) = only(events, ev.ToolOutput)
    assert (made.call_id, made.content) == ("", (TextContent("a"),))


def mute(index: int = 0, **more: Any) -> Any:
    """An output that tells no role."""
    return chat_pb2.CompletionOutputChunk(index=index, **more)


@pytest.mark.parametrize("first", [{}, {"delta": {}}, {"delta": {"content": ""}}])
def test_a_role_that_is_told_before_anything_is_said_counts(first: Any) -> None:
    events = decoded(
        chunk(mute(1, **first)),
        chunk(mute(1)),
        chunk(output(1, role="ROLE_TOOL", content="res")),
        chunk(output(2, "REASON_STOP", content="so")),
    )
    outputs = [(o.output, o.role) for o in only(events, ev.OutputStarted)]
    assert outputs == [(1, "tool"), (2, "assistant")]
    assert text_of(events) == "so"
    assert [made.content for made in only(events, ev.ToolOutput)] == [(TextContent("res"),)]


def test_an_output_that_never_tells_a_role_is_the_models() -> None:
    events = decoded(
        chunk(mute(0)),
        chunk(mute(1)),
        chunk(mute(1, delta={"content": "a"})),
        chunk(output(1, "REASON_STOP", role="ROLE_TOOL", content="b")),
        chunk(mute(2)),
    )
    outputs = [(o.output, o.role) for o in only(events, ev.OutputStarted)]
    assert outputs == [(number, "assistant") for number in (0, 1, 2)]
    assert text_of(events) == "ab"
    assert kinds(events).count("OutputFinished") == 3


def test_outputs_that_say_nothing_are_bounded_too() -> None:
    events = decoded(*(chunk(mute(n)) for n in range(20)), wire_limits=WireLimits(max_outputs=10))
    assert "max_outputs=10" in failure(events).message


def test_each_of_many_results_is_said_when_a_later_output_begins() -> None:
    calls = [chunk(output(n, role="ROLE_TOOL", content=str(n))) for n in range(900)]
    late = chunk(output(0, role="ROLE_TOOL", content="late"))
    events = decoded(*calls, late, chunk(output(900, "REASON_STOP", content="so")))
    said = [made.content for made in only(events, ev.ToolOutput)]
    assert said == [(TextContent(word),) for word in (*map(str, range(900)), "late")]


def test_a_result_is_bounded_like_a_part() -> None:
    chunks = [chunk(output(1, role="ROLE_TOOL", content="x" * 60)) for _ in range(2)]
    events = decoded(*chunks, wire_limits=WireLimits(max_part_chars=100))
    assert "max_part_chars=100" in failure(events).message


# --- encrypted --------------------------------------------------------------------


def test_encrypted_content_seals_the_reasoning_at_the_end_of_its_output() -> None:
    events = decoded(
        chunk(output(0, reasoning_content="a", encrypted_content="s1")),
        chunk(output(0, content="b", encrypted_content="s2")),
        chunk(output(0, "REASON_STOP", encrypted_content="s3")),
    )
    (seal,) = only(events, ev.PartSealed)
    assert (seal.part, seal.kind, seal.value) == (0, "encrypted", "s1s2s3")


def test_a_seal_that_is_told_again_at_the_end_is_one() -> None:
    sealed = chunk(output(0, "REASON_STOP", reasoning_content="a", encrypted_content="AB"))
    for late, values in (("AB", ["AB"]), ("ABCD", ["AB", "CD"]), ("CD", ["AB", "CD"])):
        events = decoded(sealed, chunk(output(0, encrypted_content=late)))
        assert [seal.value for seal in only(events, ev.PartSealed)] == values


def test_without_reasoning_it_is_redacted_reasoning() -> None:
    events = decoded(chunk(output(0, "REASON_STOP", content="b", encrypted_content="s")))
    (block,) = only(events, ev.ReasoningRedacted)
    assert block.data == "s"


def test_a_seal_that_may_be_half_of_one_is_none() -> None:
    events = decoded(chunk(output(0, reasoning_content="a", encrypted_content="s")))
    assert failure(events).category == "incomplete"
    assert not only(events, ev.PartSealed)


# --- sources ----------------------------------------------------------------------


def cited(ref: str, start: int, end: int, **source: Any) -> Any:
    return chat_pb2.InlineCitation(id=ref, start_index=start, end_index=end, **source)


def test_each_source_is_told_once() -> None:
    web = cited("1", 0, 2, web_citation={"url": "u1"})
    events = decoded(
        chunk(output(0, content="ab", citations=[web])),
        chunk(output(0, citations=[web, cited("1", 3, 4, web_citation={"url": "u1"})])),
        chunk(citations=["u1", "u2"]),
        chunk(output(0, "REASON_STOP"), citations=["u1", "u2", "u3", ""]),
    )
    told = [(c.part, c.source, c.ref) for c in only(events, ev.CitationAdded)]
    assert told == [
        (0, "url", "u1"),
        (0, "url", "u1"),
        (None, "url", "u2"),
        (None, "url", "u3"),
    ]


def test_sources_without_id_and_place_are_told_apart_by_their_address() -> None:
    pages = [chat_pb2.InlineCitation(web_citation={"url": url}) for url in ("a", "b", "a")]
    found = [
        chat_pb2.InlineCitation(collections_citation={"file_id": "f", "chunk_content": words})
        for words in ("one", "two")
    ]
    events = decoded(chunk(output(0, "REASON_STOP", content="ab", citations=[*pages, *found])))
    told = [(c.ref, c.quote) for c in only(events, ev.CitationAdded)]
    assert told == [("a", None), ("b", None), ("f", "one"), ("f", "two")]


def test_places_count_from_the_start_of_their_part() -> None:
    post = cited("2", 4, 6, x_citation={"url": "x1"})
    found = {"file_id": "f", "chunk_content": "words", "collection_ids": ["k"], "score": 0.5}
    early = cited("3", 1, 2, collections_citation=found)
    events = decoded(
        chunk(output(0, content="abc")),
        chunk(output(0, reasoning_content="hm")),
        chunk(output(0, "REASON_STOP", content="defg", citations=[post, early])),
    )
    first, second = only(events, ev.CitationAdded)
    assert (first.source, first.ref, first.start, first.end) == ("x", "x1", 1, 3)
    assert (second.source, second.ref, second.quote) == ("collection", "f", "words")
    texts = [start.part for start in only(events, ev.TextStarted)]
    assert [first.part, second.part] == texts[::-1]
    assert (second.start, second.end) == (1, 2)
    assert first.raw["id"] == "2"
    assert second.raw["collections_citation"]["score"] == 0.5


# --- beside the outputs -----------------------------------------------------------


def test_usage_is_running_and_zeros_do_not_undo_it() -> None:
    full = usage(
        prompt_tokens=10,
        completion_tokens=5,
        reasoning_tokens=7,
        total_tokens=22,
        cached_prompt_text_tokens=4,
        cost_in_usd_ticks=15_000_000_000,
    )
    expected = Usage(
        input_tokens=10,
        output_tokens=12,
        total_tokens=22,
        reasoning_tokens=7,
        cached_input_tokens=4,
        cost=1.5,
    )
    chunks = [chunk(output(0, content="a"), usage=full), chunk(usage=usage()), STOP]
    assert finish(decoded(*chunks)).usage == expected
    decoder = Decoder(framing="grpc")
    decoder.feed(as_grpc(chunks[:1]))
    assert decoder.usage == expected
    later = chunk(usage=usage(completion_tokens=6, total_tokens=23))
    assert finish(decoded(*chunks, later)).usage.output_tokens == 13


@pytest.mark.parametrize(
    ("counts", "output_tokens"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 5, "reasoning_tokens": 2}, 7),
        ({"prompt_tokens": 1, "completion_tokens": 5, "reasoning_tokens": 2, "total_tokens": 8}, 7),
        ({"prompt_tokens": 1, "completion_tokens": 5, "reasoning_tokens": 2, "total_tokens": 6}, 5),
        ({"prompt_tokens": 1, "total_tokens": 1}, 0),
    ],
)
def test_output_tokens_include_reasoning(counts: Any, output_tokens: int) -> None:
    end = finish(decoded(chunk(output(0, "REASON_STOP"), usage=usage(**counts))))
    assert end.usage.output_tokens == output_tokens


def test_no_usage_is_unknown() -> None:
    assert finish(decoded(chunk(output(0, "REASON_STOP"), usage=usage()))).usage == Usage()


def test_what_has_no_place_is_kept_beside_the_turn() -> None:
    files = [chat_pb2.OutputFile(file_id="f", name="n")]
    sources = usage(num_sources_used=3, server_side_tools_used=[1, 99], prompt_image_tokens=2)
    end = finish(
        decoded(
            chunk(output(0, content="a")),
            chunk(
                output(0, "REASON_STOP"),
                output_files=files,
                usage=sources,
                service_tier="SERVICE_TIER_PRIORITY",
                debug_output=chat_pb2.DebugOutput(prompt="p", attempts=2, chunks=["c"]),
            ),
        )
    )
    assert end.service_tier == "priority"
    assert end.provider_data == {
        "created": "2025-12-06T05:46:40Z",
        "debug_output": {"prompt": "p", "attempts": 2, "chunks": ["c"]},
        "system_fingerprint": "fp_1",
        "output_files": [{"file_id": "f", "name": "n"}],
        "num_sources_used": 3,
        "server_side_tools_used": ["SERVER_SIDE_TOOL_WEB_SEARCH", "99"],
        "prompt_image_tokens": 2,
    }


def test_logprobs_are_kept_where_they_are_wanted() -> None:
    tokens = [chat_pb2.LogProb(token="a", logprob=-1.5, top_logprobs=[{"token": "b"}])]
    told = output(0, "REASON_STOP", content="a")
    told.logprobs.CopyFrom(chat_pb2.LogProbs(content=tokens))
    assert "logprobs" not in finish(decoded(chunk(told))).provider_data
    kept = finish(decoded(chunk(told), quirks=ChatQuirks(keeps_logprobs=True))).provider_data
    entry = {"token": "a", "logprob": -1.5, "top_logprobs": [{"token": "b"}]}
    assert kept["logprobs"] == {"0": [{"content": [entry]}]}


def test_the_turn_starts_with_what_earlier_chunks_told() -> None:
    head = chat_pb2.GetChatCompletionChunk(id="r", model="m")
    bare = chat_pb2.GetChatCompletionChunk(outputs=[output(0, "REASON_STOP", content="a")])
    started = decoded(head, bare)[0]
    assert isinstance(started, ev.TurnStarted)
    assert (started.model, started.response_id) == ("m", "r")
    only_head = decoded(head)
    assert isinstance(only_head[0], ev.TurnStarted)
    assert only_head[0].model == "m"
    assert failure(only_head).category == "incomplete"


# --- bytes ------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [seed_trace(), two_candidates()], ids=["agent", "candidates"])
def test_any_slicing_gives_the_same_events(chunks: list[Any]) -> None:
    data = as_grpc(chunks)
    events = events_of(data, framing="grpc")
    assert events_of(single_bytes(data), framing="grpc") == events
    for seed in range(20):
        assert events_of(random_cuts(data, seed), framing="grpc") == events


@pytest.mark.parametrize("chunks", [seed_trace(), two_candidates()], ids=["agent", "candidates"])
def test_every_prefix_is_legal_and_never_a_quiet_success(chunks: list[Any]) -> None:
    data = as_grpc(chunks)
    for end in range(0, len(data), 3):
        events = events_of(data[:end], framing="grpc")
        check_grammar(events)
        message_of(events)
        if end < len(as_grpc(chunks[:-1])):
            assert isinstance(events[-1], ev.TurnFailed), end


@given(st.lists(st.binary(max_size=40), max_size=12), st.sampled_from(seed_trace()))
def test_hostile_messages_never_raise(messages: list[bytes], first: Any) -> None:
    data = as_grpc([first]) + b"".join(map(add_prefix, messages))
    events = events_of(data, framing="grpc")
    check_grammar(events)
    assert events_of(single_bytes(data), framing="grpc") == events


def test_an_unreadable_message_is_skipped_and_said() -> None:
    data = as_grpc([chunk(output(0, content="a"))]) + add_prefix(b"\xff") + as_grpc([STOP])
    end = finish(events_of(data, framing="grpc"))
    assert end.skipped_frames == 1
    assert end.reason == END_TURN


@pytest.mark.parametrize("blanks", [b"", b" ", b"\n", b"\r\n\t "])
def test_json_is_told_by_its_brace(blanks: bytes) -> None:
    payloads = [blanks + msgspec.json.encode(p) for p in as_json(seed_trace())]
    data = b"".join(map(add_prefix, payloads))
    assert events_of(data, framing="grpc") == decoded(*seed_trace())


@pytest.mark.parametrize("length", [0x7B, 0x22, 0x20])
def test_an_id_of_any_length_is_no_json(length: int) -> None:
    named = chat_pb2.GetChatCompletionChunk(id="{" * length, outputs=[output(0, "REASON_STOP")])
    started = events_of(as_grpc([named]), framing="grpc")[0]
    assert isinstance(started, ev.TurnStarted)
    assert started.response_id == "{" * length


def test_json_chunks_are_recognised_and_their_terminator_is_one() -> None:
    for spelling in ({}, {"preserving_proto_field_name": True}):
        payloads = as_json(seed_trace(), **spelling)
        events = events_of(sse(*payloads))
        assert events == decoded(*seed_trace())
        assert Decoder().feed(sse(payloads[0], done=False))[0].dialect == "xai"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("payload", "category"),
    [
        ({"error": {"code": "resource_exhausted", "message": "slow"}}, "rate_limit"),
        ({"code": "unauthenticated", "message": "who?"}, "auth"),
        ({"code": 16, "message": "who?", "details": []}, "unknown"),
    ],
)
def test_an_error_in_the_stream_fails_the_turn(payload: Any, category: str) -> None:
    events = events_of(sse(as_json([chunk(output(0, content="a"))])[0], payload), "xai")
    assert failure(events).category == category
    assert text_of(events) == "a"


def test_the_framing_alone_tells_the_dialect() -> None:
    decoder = Decoder(framing="grpc")
    assert decoder.dialect == "xai"
    assert decoder.close()[-1].category == "incomplete"  # type: ignore[union-attr]

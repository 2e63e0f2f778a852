"""Cohere streams, version 2 and version 1."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.messages import CallPart, ReasoningPart
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, only, sse

START = {"type": "message-start", "id": "r1", "delta": {"message": {"role": "assistant"}}}


def content(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content-delta", "index": index, "delta": {"message": {"content": fields}}}


def called(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    message = {"tool_calls": fields}
    return {"type": f"tool-call-{kind}", "index": index, "delta": {"message": message}}


def ended(reason: str | None = "COMPLETE", **more: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": reason, **more}}


def decode(*events: Any, **options: Any) -> list[ev.TurnEvent]:
    decoded = events_of(sse(*events, done=False, names=True), **options)
    check_grammar(decoded)
    return decoded


def parts(*events: Any, reason: str = "COMPLETE") -> list[Any]:
    return list(message_of(decode(START, *events, ended(reason))).turns[0].parts)


def first_version(*events: dict[str, Any]) -> list[ev.TurnEvent]:
    decoded = events_of(sse(*events, done=False))
    check_grammar(decoded)
    return decoded


def test_thinking_and_text_are_parts_of_their_own() -> None:
    thinking, text = parts(
        content(0, thinking="H"),
        content(0, thinking="m."),
        {"type": "content-end", "index": 0},
        content(1, text="Ye"),
        content(1, text="s."),
    )
    assert isinstance(thinking, ReasoningPart)
    assert (thinking.text, text.text) == ("Hm.", "Yes.")


def test_a_tool_plan_is_reasoning_that_is_marked() -> None:
    plan, call = parts(
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I "}}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "look."}}},
        called("start", 0, id="c1", type="function", function={"name": "f", "arguments": ""}),
        called("delta", 0, function={"arguments": '{"a":'}),
        called("delta", 0, function={"arguments": "1}"}),
        {"type": "tool-call-end", "index": 0},
        reason="TOOL_CALL",
    )
    assert (plan.text, plan.provider_data) == ("I look.", {"type": "tool_plan"})
    assert isinstance(call, CallPart)
    assert (call.call_id, call.name, call.args) == ("c1", "f", {"a": 1})


def test_calls_begin_in_order() -> None:
    first, second = parts(
        called("start", 0, id="a", function={"name": "f", "arguments": "{}"}),
        {"type": "tool-call-end", "index": 0},
        called("start", 1, id="b", function={"name": "g"}),
        {"type": "tool-call-end", "index": 1},
        reason="TOOL_CALL",
    )
    assert [(call.call_id, call.args) for call in (first, second)] == [("a", {}), ("b", {})]


def test_each_source_is_a_citation_with_its_place() -> None:
    sources = [
        {"type": "document", "id": "d1", "document": {"title": "t", "url": "https://a"}},
        {"type": "tool", "id": "t1"},
    ]
    citation = {"start": 0, "end": 2, "text": "Ye", "sources": sources}
    events = decode(
        START,
        content(0, text="Yes."),
        {"type": "citation-start", "index": 0, "delta": {"message": {"citations": citation}}},
        {"type": "citation-end", "index": 0},
        ended(),
    )
    first, second = only(events, ev.CitationAdded)
    assert (first.part, first.start, first.end) == (0, 0, 2)
    assert (first.source, first.ref, first.title) == ("document", "https://a", "t")
    assert (second.source, second.ref) == ("tool", "t1")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("COMPLETE", "end_turn"),
        ("TOOL_CALL", "tool_use"),
        ("MAX_TOKENS", "max_tokens"),
        ("STOP_SEQUENCE", "stop_sequence"),
        ("ERROR_TOXIC", "content_filter"),
        ("ERROR_LIMIT", "context_full"),
        ("NEW", "other"),
    ],
)
def test_the_finish_reason(word: str, reason: str) -> None:
    end = decode(START, content(0, text="a"), ended(word))[-1]
    assert isinstance(end, ev.TurnFinished)
    assert (end.reason.word, end.raw_reason) == (reason, word)


@pytest.mark.parametrize(("word", "category"), [("ERROR", "server"), ("TIMEOUT", "timeout")])
def test_a_reason_that_means_an_error_fails_the_turn(word: str, category: str) -> None:
    end = decode(START, content(0, text="a"), ended(word, error="it broke"))[-1]
    assert isinstance(end, ev.TurnFailed)
    assert (end.category, end.message) == (category, "it broke")


def test_usage_is_that_of_the_model() -> None:
    usage = {
        "billed_units": {"input_tokens": 1, "output_tokens": 2},
        "tokens": {"input_tokens": 30, "output_tokens": 4},
        "cached_tokens": 20,
    }
    end = decode(START, content(0, text="a"), ended(usage=usage))[-1]
    assert isinstance(end, ev.TurnFinished)
    found = end.usage
    assert (found.input_tokens, found.output_tokens, found.cached_input_tokens) == (30, 4, 20)
    assert end.provider_data == {"billed_units": usage["billed_units"]}


def test_a_cut_stream_is_incomplete() -> None:
    end = decode(START, content(0, text="a"))[-1]
    assert isinstance(end, ev.TurnFailed)
    assert end.category == "incomplete"


# -- version 1


def test_a_chat_of_version_1() -> None:
    events = first_version(
        {"event_type": "stream-start", "generation_id": "g1"},
        {"event_type": "search-results", "documents": [{"id": "d1"}]},
        {"event_type": "text-generation", "text": "Hel"},
        {"event_type": "text-generation", "text": "lo"},
        {
            "event_type": "citation-generation",
            "citations": [{"start": 0, "end": 5, "text": "Hello", "document_ids": ["d1", "d2"]}],
        },
        {
            "event_type": "stream-end",
            "finish_reason": "COMPLETE",
            "response": {"meta": {"tokens": {"input_tokens": 3, "output_tokens": 4}}},
        },
    )
    end = events[-1]
    assert isinstance(end, ev.TurnFinished)
    assert message_of(events).text == "Hello"
    assert [citation.ref for citation in only(events, ev.CitationAdded)] == ["d1", "d2"]
    assert (end.usage.input_tokens, end.usage.output_tokens) == (3, 4)
    assert end.provider_data == {"documents": [{"id": "d1"}]}


def test_calls_of_version_1_come_whole() -> None:
    events = first_version(
        {"event_type": "tool-calls-chunk", "text": "I look.", "tool_call_delta": {"index": 0}},
        {
            "event_type": "tool-calls-generation",
            "text": "I look.",
            "tool_calls": [{"name": "f", "parameters": {"a": 1}}],
        },
        {"event_type": "stream-end", "response": {"finish_reason": "COMPLETE"}},
    )
    plan, call = message_of(events).turns[0].parts
    assert isinstance(plan, ReasoningPart)
    assert isinstance(call, CallPart)
    assert (plan.text, call.name, call.args) == ("I look.", "f", {"a": 1})
    assert isinstance(events[-1], ev.TurnFinished)
    assert events[-1].reason.word == "tool_use"

"""What a provider is sent again: every call answered, nothing partial."""

from __future__ import annotations

from typing import Any

from headrace.content import TextContent
from headrace.messages import (
    AssistantEntry,
    CallPart,
    CallResult,
    Message,
    OutputPart,
    Part,
    PromptEntry,
    ReasoningPart,
    RedactedPart,
    Seal,
    TextPart,
    ToolResultsEntry,
    Turn,
    history,
)
from headrace.outcome import END_TURN, MAX_TOKENS, TOOL_USE, ErrorInfo, FinishReason, abort_reason

CUT = ErrorInfo("incomplete", "cut")


def numbers(part: int) -> dict[str, Any]:
    return {"part": part, "output": 0, "item": part, "started_ms": 0, "ended_ms": 1}


def text(part: int, words: str = "hello") -> TextPart:
    return TextPart(**numbers(part), text=words)


def thought(part: int, *, is_signed: bool = False) -> ReasoningPart:
    seals = (Seal("signature", "s"),) if is_signed else ()
    return ReasoningPart(**numbers(part), text="hm", seals=seals)


def call(part: int, **fields: Any) -> CallPart:
    return CallPart(**numbers(part), **{"call_id": f"c{part}", "name": "f", **fields})


def said(
    *parts: Part,
    results: tuple[CallResult, ...] = (),
    finish: FinishReason | None = END_TURN,
    error: ErrorInfo | None = None,
) -> Message:
    turn = Turn(parts=parts, results=results, finish=finish, error=error, dialect="anthropic")
    return Message(role="assistant", turns=(turn,))


def replayed(message: Message) -> list[int]:
    return [
        p.part
        for entry in history([message])
        if isinstance(entry, AssistantEntry)
        for p in entry.parts
    ]


def answers(message: Message) -> list[CallResult]:
    return [r for e in history([message]) if isinstance(e, ToolResultsEntry) for r in e.results]


def test_a_conversation_is_prompts_replies_and_results_in_order() -> None:
    result = CallResult(call_id="c0", content=(TextContent("42"),))
    asked = Message(role="user", content=(TextContent("how many?"),))
    entries = history([asked, said(call(0), results=(result,), finish=TOOL_USE), asked])
    assert [type(entry) for entry in entries] == [
        PromptEntry,
        AssistantEntry,
        ToolResultsEntry,
        PromptEntry,
    ]
    assert entries[0] == PromptEntry("user", (TextContent("how many?"),))
    assert entries[2] == ToolResultsEntry((result,))
    assert isinstance(entries[1], AssistantEntry)
    assert entries[1].dialect == "anthropic"


def test_every_call_is_answered_in_call_order() -> None:
    late = CallResult(call_id="c1", content=(TextContent("1"),))
    found = answers(said(call(0), call(1), results=(late,), finish=TOOL_USE))
    assert [result.call_id for result in found] == ["c0", "c1"]
    assert found[0].is_error
    assert found[1] is late


def test_provider_run_calls_are_not_ours_to_answer() -> None:
    output = OutputPart(**numbers(1), call_id="c0", content=())
    assert answers(said(call(0, executor="provider"), output)) == []


def test_partial_unsigned_reasoning_is_not_replayed() -> None:
    assert replayed(said(thought(0), text(1), finish=None, error=CUT)) == [1]
    assert replayed(said(thought(0), text(1))) == [0, 1]


def test_signed_reasoning_survives_a_cut_where_something_follows_it() -> None:
    assert replayed(said(thought(0, is_signed=True), text(1), finish=None, error=CUT)) == [0, 1]


def test_trailing_reasoning_of_a_cut_turn_is_left_out() -> None:
    redacted = RedactedPart(**numbers(1), data="x")
    cut = said(thought(0, is_signed=True), redacted, finish=abort_reason("cancelled"))
    assert history([cut]) == []


def test_a_malformed_call_of_a_whole_turn_is_answered_with_its_error() -> None:
    broken = said(call(0, error="no JSON", raw="{"), finish=TOOL_USE)
    assert replayed(broken) == [0]
    assert answers(broken)[0].is_error
    assert "no JSON" in str(answers(broken)[0].content)


def test_a_call_that_was_cut_is_left_out() -> None:
    cut = said(text(0), call(1, error="cut", raw='{"a'), finish=MAX_TOKENS)
    assert replayed(cut) == [0]
    assert answers(cut) == []


def test_a_provider_run_call_without_its_output_does_not_survive_a_cut() -> None:
    cut = said(text(0), call(1, executor="provider"), finish=None, error=CUT)
    assert replayed(cut) == [0]


def test_parts_that_are_still_open_are_not_replayed() -> None:
    going_on = TextPart(part=1, output=0, item=1, started_ms=0, text="…")
    assert replayed(said(text(0), going_on)) == [0]


def test_a_whole_call_of_a_cut_turn_is_sent_and_answered() -> None:
    cut = said(text(0), call(1), finish=None, error=CUT)
    assert replayed(cut) == [0, 1]
    *_, results = history([cut])
    assert isinstance(results, ToolResultsEntry)
    assert [result.call_id for result in results.results] == ["c1"]

"""Streams of the Interactions API: steps, calls, signatures and ends."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.messages import CallPart, ReasoningPart, TextPart
from tests.grammar import check_grammar
from tests.wire import events_of, message_of, only, sse

START = {"event_type": "interaction.created", "interaction": {"id": "r1", "model": "m1"}}


def begin(index: int, **step: Any) -> dict[str, Any]:
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"event_type": "step.delta", "index": index, "delta": fields}


def stop(index: int) -> dict[str, Any]:
    return {"event_type": "step.stop", "index": index}


def decode(*events: Any, status: str = "completed", **interaction: Any) -> list[ev.TurnEvent]:
    interaction["status"] = status
    end = {"event_type": "interaction.completed", "interaction": interaction}
    decoded = events_of(sse(START, *events, end, done=False))
    check_grammar(decoded)
    return decoded


def test_a_thought_a_text_and_a_call() -> None:
    events = decode(
        begin(0, type="thought", summary=[{"type": "text", "text": "Hm"}]),
        delta(0, type="thought_summary", content={"type": "text", "text": "m."}),
        delta(0, type="thought_signature", signature="sig"),
        stop(0),
        begin(1, type="model_output", content=[{"type": "text", "text": "I "}]),
        delta(1, type="text", text="look."),
        stop(1),
        begin(2, type="function_call", id="c1", name="f", arguments={}, signature="seal"),
        delta(2, type="arguments_delta", arguments='{"a":1}'),
        stop(2),
        status="requires_action",
    )
    thought, text, call = message_of(events).turns[0].parts
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.signature, thought.kind) == ("Hmm.", "sig", "summary")
    assert isinstance(text, TextPart)
    assert text.text == "I look."
    assert isinstance(call, CallPart)
    assert (call.call_id, call.args, call.seals[0].value) == ("c1", {"a": 1}, "seal")


def test_unknown_steps_are_kept() -> None:
    (item,) = only(decode(begin(0, type="odd", a=1), stop(0)), ev.OpaqueItem)
    assert (item.kind, item.data) == ("odd", '{"type":"odd","a":1}')


@pytest.mark.parametrize(
    ("status", "reason"),
    [("completed", "end_turn"), ("requires_action", "tool_use"), ("incomplete", "max_tokens")],
)
def test_the_status_is_the_reason(status: str, reason: str) -> None:
    end = decode(delta(0, type="text", text="a"), status=status)[-1]
    assert isinstance(end, ev.TurnFinished)
    assert (end.reason.word, end.raw_reason) == (reason, status)


def test_an_interaction_that_failed_fails_the_turn() -> None:
    end = decode(status="failed", error={"code": 429, "message": "slow down"})[-1]
    assert isinstance(end, ev.TurnFailed)
    assert (end.category, end.message) == ("rate_limit", "slow down")


def test_thoughts_are_part_of_the_output_tokens() -> None:
    usage = {"total_input_tokens": 1, "total_output_tokens": 2, "total_thought_tokens": 3}
    end = decode(usage=usage)[-1]
    assert isinstance(end, ev.TurnFinished)
    assert (end.usage.output_tokens, end.usage.reasoning_tokens) == (5, 3)

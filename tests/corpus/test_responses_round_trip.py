"""Every recorded stream through the Responses protocol and back: it means the same, or a table
says what the protocol cannot carry."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.events import Record, TurnEvent
from headrace.messages import CallPart, Message, ReasoningPart, TextPart, fold, fold_candidates
from headrace.outcome import FinishReason
from headrace.projections.openai_responses import ResponsesProjection
from headrace.usage import Usage
from tests.corpus import recorded
from tests.doors.responses_frames import check_stream, decode_frames
from tests.wire import events_of, sse

pytestmark = pytest.mark.shared(recorded.MANIFEST)

ROWS = recorded.rows()
LOSSES = {
    "candidates": "only the first of several candidates is shown",
    "finish: stop_sequence": "the protocol has no word for a stop sequence: it is completed",
    "finish: tool_use": "the protocol has no word for calls: the response is completed",
    "finish: paused": "the protocol has no word for a pause: the response is completed",
    "damaged": "a response whose stream lost frames is incomplete, whatever its reason was",
    "usage: unknown counts": "the protocol has no unknown counts: they are 0 beside known ones",
    "usage: lifetimes of caches": "the protocol counts what was written to a cache as one number",
    "usage: cost and units": "the protocol has no cost and no other units",
    "error: category": "several categories of errors are `server_error`",
    "error: code": "codes of providers are replaced by those of the protocol",
    "media": "sound, video and addresses of images are left out",
    "empty parts": "texts and reasoning without a character are left out",
}
_CODED = ("auth", "permission", "rate_limit", "invalid_request", "not_found", "context_overflow",
          "content_filter", "overloaded", "timeout", "server")  # fmt: skip


def project(events: list[TurnEvent]) -> list[dict[str, Any]]:
    projection = ResponsesProjection("resp_1", includes_seals=True)
    records = [Record(seq, seq, event) for seq, event in enumerate(events, 1)]
    frames = [frame for record in records for frame in projection.feed(record)]
    return decode_frames(frames + projection.close())


def first_candidate(events: list[TurnEvent]) -> Message:
    records = [Record(seq, seq, event) for seq, event in enumerate(events, 1)]
    candidates = fold_candidates(records)
    return candidates[0] if candidates else fold(records)


def compare(before: Message, after: Message) -> set[str]:
    """Assert that both mean the same; return the names of what was lost."""
    assert texts_of(after) == texts_of(before)
    assert after.reasoning == before.reasoning
    assert calls_of(after) == calls_of(before)
    losses = compare_usage(before.usage, after.usage)
    if before.error is not None:
        return losses | compare_errors(before, after)
    assert after.error is None
    assert before.finish is not None
    assert after.finish is not None
    return losses | compare_ends(before, before.finish, after.finish)


def texts_of(message: Message) -> list[tuple[str, bool]]:
    """The texts, with refusals apart."""
    parts = [part for turn in message.turns for part in turn.parts if isinstance(part, TextPart)]
    said = "".join(part.text for part in parts if not part.is_refusal)
    return [(said, False), ("".join(part.text for part in parts if part.is_refusal), True)]


def calls_of(message: Message) -> list[tuple[Any, ...]]:
    """The calls of the client. Whether arguments are whole is told by the finish as well."""
    calls = [call for call in message.calls if call.executor == "client"]
    return [(call.call_id, call.name, call.input, call.raw) for call in calls]


def compare_usage(before: Usage, after: Usage) -> set[str]:
    losses: set[str] = set()
    for name in ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens"):
        told, got = getattr(before, name), getattr(after, name)
        if told is None and got in (None, 0):
            losses |= {"usage: unknown counts"} if got == 0 else set()
        else:
            assert (name, got) == (name, told)
    if before.cache_creation_5m_tokens is not None or before.cache_creation_1h_tokens is not None:
        losses.add("usage: lifetimes of caches")
    if before.cost is not None or before.units:
        losses.add("usage: cost and units")
    return losses


def compare_errors(before: Message, after: Message) -> set[str]:
    assert before.error is not None
    assert after.error is not None
    assert after.error.message == before.error.message
    if before.error.category in _CODED:
        assert after.error.category == before.error.category
        return {"error: code"}
    assert after.error.category == "server"
    return {"error: category"}


def compare_ends(message: Message, before: FinishReason, after: FinishReason) -> set[str]:
    if not message.is_complete and before.word in ("end_turn", "tool_use", "stop_sequence"):
        assert after.word == "other"
        return {"damaged"}
    if before.word in ("stop_sequence", "tool_use", "paused") and after.word == "end_turn":
        return {f"finish: {before.word}"}
    if before.word == "other" and not before.detail:
        assert after.detail == "unknown"
    elif before.word in ("context_full", "time_limit"):
        assert after.detail == before.word
    else:
        assert after == before
    return set()


def test_every_recorded_stream_keeps_its_meaning(record_property: Any) -> None:
    lost: Counter[str] = Counter()
    for row in ROWS:
        events = events_of(recorded.read(row), framing=recorded.FRAMINGS[row["framing"]])
        payloads = project(events)
        check_stream(payloads, has_gaps=True)
        before = first_candidate(events)
        again = events_of(sse(*payloads, done=False, names=True), "responses")
        try:
            lost.update(compare(before, first_candidate(again)))
        except AssertionError as error:
            raise AssertionError(f"{row['file']}: {error}") from error
        parts = [part for turn in before.turns for part in turn.parts]
        if any(not part.text for part in parts if isinstance(part, TextPart | ReasoningPart)):
            lost["empty parts"] += 1
        lost["candidates"] += len(before.turns[0].outputs) > 1
        assert all(isinstance(call, CallPart) for call in before.calls)
    assert lost.keys() <= LOSSES.keys()
    lines = [f"{count:4} {name}: {LOSSES[name]}" for name, count in lost.most_common()]
    record_property("summary", "\n".join([f"{len(ROWS)} streams as Responses", *lines]))

"""Frames of the Responses protocol over authored streams, cut anywhere and ended any way."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent

from headrace import events as ev
from headrace.events import Record
from headrace.messages import fold
from headrace.outcome import abort_reason
from headrace.projections.openai_responses import (
    ResponsesProjection,
    encode_frame,
    project_message,
)
from headrace.wire.decode import decode
from tests.authored import Stream
from tests.dialect_streams import ANY_STREAM
from tests.doors.responses_frames import check_stream, decode_frames
from tests.phases.ux_runs import runs

ENDINGS: dict[str, list[ev.Event]] = {
    "end of bytes": [],
    "error": [ev.TurnFailed(category="network", message="gone")],
    "cancel": [ev.RunFinished(abort_reason("cancelled"))],
    "cancel, closed": [ev.RunFinished(abort_reason("cancelled")), ev.RunClosed("committed", "m")],
    "failed run": [ev.RunFailed(category="interrupted", message="stopped")],
}
EVENT_TYPES: dict[str, Any] = {
    get_args(event.model_fields["type"].annotation)[0]: event
    for event in get_args(get_args(ResponseStreamEvent)[0])
}


def records_of(stream: Stream) -> list[Record]:
    records = list(decode([stream.data], framing=stream.framing))
    return [Record(r.seq, r.seq * 37, r.event, r.path, r.step) for r in records]


def ended(records: list[Record], ending: str) -> list[Record]:
    """The records and what ends them, unless they have ended."""
    if records and isinstance(records[-1].event, ev.TurnFinished | ev.TurnFailed):
        return records
    seq = len(records)
    more = [Record(seq + n, (seq + n) * 37, event) for n, event in enumerate(ENDINGS[ending], 1)]
    return records + more


def payloads_of(records: list[Record], **options: Any) -> list[dict[str, Any]]:
    projection = ResponsesProjection("resp_1", **options)
    frames = [frame for record in records for frame in projection.feed(record)]
    return decode_frames(frames + projection.close())


def has_gaps(records: list[Record]) -> bool:
    return any(isinstance(record.event, ev.PartRestored) for record in records)


@given(ANY_STREAM, st.data())
def test_any_prefix_that_ends_any_way_is_legal(stream: Stream, data: st.DataObject) -> None:
    records = records_of(stream)
    cut = data.draw(st.integers(0, len(records)))
    prefix = ended(records[:cut], data.draw(st.sampled_from(list(ENDINGS))))
    payloads = payloads_of(prefix, includes_seals=data.draw(st.booleans()))
    check_stream(payloads, has_gaps=has_gaps(prefix))
    is_whole = any(isinstance(record.event, ev.TurnFinished) for record in prefix)
    assert is_whole or payloads[-1]["response"]["status"] != "completed"


@given(runs(), st.data())
def test_any_prefix_of_any_run_is_legal(records: list[Record], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(records)))
    tools = frozenset({"tides"}) if data.draw(st.booleans()) else frozenset[str]()
    payloads = payloads_of(records[:cut], client_tools=tools, includes_seals=True)
    # The arguments of these runs are not those of their deltas.
    check_stream(payloads, has_gaps=True)
    check_types(payloads)


@given(ANY_STREAM)
def test_published_types_take_every_frame(stream: Stream) -> None:
    check_types(payloads_of(records_of(stream), includes_seals=True))


def check_types(payloads: list[dict[str, Any]]) -> None:
    """Assert that OpenAI's published types take every event."""
    for payload in payloads:
        response = payload.get("response", {})
        # Words that the types do not have, and that clients take as they are.
        if response.get("incomplete_details"):
            response["incomplete_details"]["reason"] = "max_output_tokens"
        if response.get("error"):
            response["error"]["code"] = "server_error"
        EVENT_TYPES[payload["type"]].model_validate(payload)


@given(ANY_STREAM)
def test_a_stored_message_gives_the_response_that_was_streamed(stream: Stream) -> None:
    records = [
        Record(1, 0, ev.RunStarted("r1", "m1")),
        Record(2, 0, ev.StepStarted(0)),
        *(Record(r.seq + 2, r.at_ms, r.event) for r in records_of(stream)),
    ]
    end = records[-1].event
    assert isinstance(end, ev.TurnFinished | ev.TurnFailed)
    last = (
        ev.RunFinished(end.reason, end.usage)
        if isinstance(end, ev.TurnFinished)
        else ev.RunFailed(category=end.category, message=end.message, usage=end.usage)
    )
    seq, at_ms = records[-1].seq, records[-1].at_ms
    records.append(Record(seq + 1, at_ms, ev.StepFinished(0)))
    records.append(Record(seq + 2, at_ms, last))
    streamed = payloads_of(records, includes_seals=True)[-1]["response"]
    stored = project_message("1", fold(records), options='{"includes_seals": true}')
    for response in (streamed, stored):
        response["model"] = response["completed_at"] = None
        for item in response["output"]:
            # Seals of several parts are told in the order of the parts.
            item.pop("encrypted_content", None)
    assert _without_citations(stored) == _without_citations(streamed)


def _without_citations(response: dict[str, Any]) -> dict[str, Any]:
    """A citation can come before the text of its part, which a stored message does not tell."""
    parts: list[dict[str, Any]] = [
        part for item in response["output"] for part in item.get("content", [])
    ]
    for part in parts:
        part.pop("annotations", None)
    return response


@pytest.mark.parametrize("kind", [ev.TextDelta, ev.ReasoningDelta])
def test_bytes_grow_with_the_text_and_not_with_its_square(kind: Any) -> None:
    def size(deltas: int) -> int:
        start = ev.TextStarted if kind is ev.TextDelta else ev.ReasoningStarted
        finish = ev.TextFinished if kind is ev.TextDelta else ev.ReasoningFinished
        events: list[Any] = [ev.TurnStarted(dialect="chat"), ev.OutputStarted(0)]
        events += [start(part=0, output=0, item=0)]
        events += [kind(0, "some words ") for _ in range(deltas)]
        events += [finish(0), ev.OutputFinished(0), ev.TurnFinished(reason=abort_reason("timeout"))]
        projection = ResponsesProjection("resp_1")
        frames = [f for n, e in enumerate(events, 1) for f in projection.feed(Record(n, n, e))]
        return sum(len(encode_frame(frame)) for frame in frames + projection.close())

    assert size(4000) < 2.2 * size(2000)

"""Seed 000: phases of xAI's streams. The unit tests that its section 3.2 D names, by name, and
the trace of its section 1.4 through a real gRPC round trip.

Where our decisions correct the document (design, decisions 1 to 4):
- reasoning is complete also when content began after it (the document fell back to Init);
- a call that has begun completes reasoning too;
- completes are told for every output that is over, gaps in the indexes included.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace import events as ev
from headrace.events import Record, Stamp
from headrace.outcome import END_TURN, TOOL_USE
from headrace.phases import (
    Consumer,
    Notice,
    OutputStats,
    PhaseTracker,
    consume_async,
    output_status,
)
from headrace.transport import HTTPCall
from headrace.transport.grpc.transport import GRPCTransport
from headrace.turn.open_turn import open_turn
from headrace.wire.decoder import Decoder
from tests.wire import events_of
from tests.xai import as_grpc, chunk, grpc_server, output, seed_trace, two_candidates

BODY = b'{"model": "grok-4", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}]}'

# --- 3.2 D: get_output_status --------------------------------------------------------


def test_init_init_no_tokens_not_finished() -> None:
    assert output_status(OutputStats()) == ("init", "init")


def test_pending_init_reasoning_tokens_no_content_not_finished() -> None:
    stats = OutputStats(reasoning_deltas=2, is_reasoning_last=True)
    assert output_status(stats) == ("pending", "init")


def test_complete_pending_no_reasoning_content_tokens_not_finished() -> None:
    assert output_status(OutputStats(content_deltas=1)) == ("complete", "pending")


@pytest.mark.parametrize("deltas", [0, 3])
def test_complete_complete_finished_with_or_without_tokens(deltas: int) -> None:
    stats = OutputStats(
        reasoning_deltas=deltas, content_deltas=deltas, is_finished=True, finish=END_TURN
    )
    assert output_status(stats) == ("complete", "complete")


def test_complete_complete_tool_call_only_output() -> None:
    stats = OutputStats(has_call=True, is_finished=True, finish=TOOL_USE)
    assert output_status(stats) == ("complete", "complete")


def test_corrected_reasoning_stays_complete_when_content_follows_it() -> None:
    """The document's rules gave Init here."""
    stats = OutputStats(reasoning_deltas=2, content_deltas=1)
    assert output_status(stats) == ("complete", "pending")


# --- 3.2 D: completion callbacks -----------------------------------------------------


def records_of(chunks: list[Any], **options: Any) -> list[Record]:
    events = events_of(as_grpc(chunks), "xai", framing="grpc", **options)
    times = iter(range(0, 10**9, 20))
    return Stamp(lambda: next(times)).feed(events)


def told(records: list[Record]) -> list[str]:
    tracker = PhaseTracker()
    notices = [n for record in records for n in tracker.feed(record)] + tracker.close()
    return _names(notices)


def _names(notices: list[Notice]) -> list[str]:
    return [f"{n.name} {n.context.output}" for n in notices if n.name != "phase_change"]


def test_callbacks_fire_only_on_transition_to_the_next_output() -> None:
    chunks = [
        chunk(output(0, reasoning_content="a")),
        chunk(output(0, content="b")),
        chunk(output(0, "REASON_STOP")),
        chunk(output(1, content="c")),
        chunk(output(1, "REASON_STOP")),
    ]
    seen = told(records_of(chunks))
    assert seen.index("content_complete 0") == seen.index("content_start 1") - 1
    assert seen[-1] == "content_complete 1"
    assert seen.count("reasoning_complete 0") == 1


def test_callbacks_fire_only_if_the_output_had_reasoning_or_content() -> None:
    seen = told(records_of(seed_trace()))
    completes = [name for name in seen if "_complete" in name]
    assert completes == ["content_complete 3"]


def test_callbacks_fire_at_the_end_of_the_stream_for_the_final_output() -> None:
    seen = told(records_of([chunk(output(0, reasoning_content="a"))]))
    assert seen == ["reasoning_start 0", "reasoning_delta 0", "reasoning_complete 0"]


def test_several_outputs_in_one_chunk_and_gaps_in_the_indexes() -> None:
    chunks = [
        chunk(output(0, reasoning_content="a")),
        chunk(output(4, "REASON_TOOL_CALLS", reasoning_content="b"), output(7, content="c")),
        chunk(output(7, "REASON_STOP")),
    ]
    assert told(records_of(chunks, outputs="successive")) == [
        "reasoning_start 0",
        "reasoning_delta 0",
        "reasoning_complete 0",
        "reasoning_start 4",
        "reasoning_delta 4",
        "reasoning_complete 4",
        "content_start 7",
        "content_delta 7",
        "content_complete 7",
    ]


def test_a_later_empty_finish_reason_does_not_undo_the_first() -> None:
    chunks = [
        chunk(output(0, content="a")),
        chunk(output(0, "REASON_STOP")),
        chunk(output(0, "REASON_INVALID")),
    ]
    last = records_of(chunks)[-1].event
    assert isinstance(last, ev.TurnFinished)
    assert last.reason == END_TURN


# --- 1.4: the observed stream, over a real connection ----------------------------------


async def _over_grpc(chunks: list[Any], **options: Any) -> list[Record]:
    records: list[Record] = []
    stamp = Stamp(lambda: 0.0)
    async with grpc_server(chunks) as server:
        transport = GRPCTransport()
        call = HTTPCall(url=server.url, headers={"authorization": "Bearer k"}, body=BODY)
        turn = await open_turn(transport, call, lambda: Decoder("xai", framing="grpc", **options))
        async for events in turn:
            records += stamp.feed(events)
        await transport.aclose()
    return records


def test_the_trace_ends_end_turn_with_all_four_outputs_seen() -> None:
    records = asyncio.run(_over_grpc(seed_trace()))
    events = [record.event for record in records]
    outputs = [e.output for e in events if isinstance(e, ev.OutputStarted)]
    roles = [e.role for e in events if isinstance(e, ev.OutputStarted)]
    assert outputs == [0, 1, 2, 3]
    assert roles == ["assistant", "tool", "tool", "assistant"]
    finished = events[-1]
    assert isinstance(finished, ev.TurnFinished)
    assert finished.reason == END_TURN
    assert finished.raw_reason == "REASON_STOP"
    text = "".join(e.text for e in events if isinstance(e, ev.TextDelta))
    assert text.startswith("### Last Two Tweets")
    assert finished.usage.input_tokens == 4000
    assert finished.usage.output_tokens == 400


def test_the_traces_phases_are_those_of_the_document() -> None:
    """Index 0 ends with tool calls, 1 and 2 are tool results, 3 has content and no reasoning."""
    seen = told(asyncio.run(_over_grpc(seed_trace())))
    assert seen[:2] == ["provider_call 0", "provider_call 0"]
    assert seen[2] == "content_start 3"
    assert set(seen[3:-4]) == {"content_delta 3"}
    assert sorted(seen[-4:]) == ["citation 3", "citation 3", "content_complete 3", "usage 3"]


def test_two_candidates_over_grpc_complete_at_their_own_finish() -> None:
    seen: list[tuple[str, int]] = []

    async def main() -> None:
        records = await _over_grpc(two_candidates(), outputs="candidates")

        async def arriving() -> Any:
            for record in records:
                yield record

        consumer = Consumer(
            on_content_delta=lambda context, _: seen.append(("delta", context.output)),
            on_reasoning_complete=lambda context: seen.append(("reasoning", context.output)),
            on_content_complete=lambda context: seen.append(("content", context.output)),
        )
        await consume_async(arriving(), consumer)

    asyncio.run(main())
    assert seen == [
        ("delta", 0), ("delta", 1), ("delta", 1), ("reasoning", 1), ("content", 1),
        ("delta", 0), ("reasoning", 0), ("content", 0),
    ]  # fmt: skip

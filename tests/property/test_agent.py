"""Phases and frames over the streams of agents: steps, tools and results in one turn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.events import Record
from headrace.phases import PhaseTracker
from headrace.projections.thinking import ThinkingProjection
from headrace.timeline.lane import lanes
from headrace.timeline.timeline import timeline
from headrace.wire.decode import decode
from tests.grammar import check_grammar
from tests.phases.order import check_frames, check_notices
from tests.xai import as_grpc, call, chunk, output

Draw = Callable[[st.SearchStrategy[Any]], Any]
WORDS = st.sampled_from(["Hm. ", "Let me look. ", "**Plan**\n", "so ", "4", "\n"])
ENDS = st.sampled_from(["COMPLETED", "FAILED", "INCOMPLETE"])


@st.composite
def agent_streams(draw: Draw) -> list[Any]:
    """Chunks of successive outputs: each step may think, write and call, then come the
    results of what the provider ran, and the last step stops."""
    chunks: list[Any] = []
    index = 0
    for step in range(draw(st.integers(1, 3))):
        calls = [f"c-{step}-{n}" for n in range(draw(st.integers(0, 2)))]
        chunks += _step(draw, index, calls)
        chunks.append(chunk(output(index, "REASON_TOOL_CALLS" if calls else "REASON_INVALID")))
        index += 1
        for call_id in calls:
            chunks += _result(draw, index, call_id)
            index += 1
    return [*chunks, *_step(draw, index, []), chunk(output(index, draw(_REASONS)))]


_REASONS = st.sampled_from(["REASON_STOP", "REASON_MAX_LEN", "REASON_INVALID"])


def _step(draw: Draw, index: int, calls: list[str]) -> list[Any]:
    fields = draw(st.lists(st.sampled_from(["reasoning_content", "content"]), max_size=4))
    said = [chunk(output(index, **{field: draw(WORDS)})) for field in fields]
    sealed = [chunk(output(index, encrypted_content="s"))] if draw(st.booleans()) else []
    made = [chunk(output(index, tool_calls=[call(call_id, '{"q":1}')])) for call_id in calls]
    return [*said, *sealed, *made]


def _result(draw: Draw, index: int, call_id: str) -> list[Any]:
    """The end of a call, with what it gave back before, beside or after it."""
    end = draw(ENDS)
    error = {"error_message": "no"} if end == "FAILED" else {}
    told = call(call_id, draw(st.sampled_from(["", '{"q": 1}'])), status=end, **error)
    pieces = draw(st.lists(st.sampled_from(["found ", "it"]), max_size=2))
    more = [chunk(output(index, role="ROLE_TOOL", content=piece)) for piece in pieces]
    return [chunk(output(index, role="ROLE_TOOL", tool_calls=[told]), is_bare=True), *more]


def records_of(chunks: list[Any]) -> list[Record]:
    records = decode([as_grpc(chunks)], "xai", framing="grpc")
    return [Record(r.seq, r.seq * 37, r.event) for r in records]


def check(records: list[Record]) -> None:
    projection = ThinkingProjection()
    check_frames([f for r in records for f in projection.feed(r)] + projection.close())
    for mode in ("transition", "phase"):
        tracker = PhaseTracker(mode)
        check_notices([n for r in records for n in tracker.feed(r)] + tracker.close())
    drawn = timeline(records)
    for lane in lanes(drawn):
        assert all(a.end_ms <= b.start_ms for a, b in pairwise(lane.spans))
    assert all(drawn.started_ms <= s.start_ms <= s.end_ms <= drawn.ended_ms for s in drawn.spans)


@given(agent_streams(), st.data())
def test_any_prefix_of_an_agent_is_in_order(chunks: list[Any], data: st.DataObject) -> None:
    whole = records_of(chunks)
    check_grammar([r.event for r in whole])  # type: ignore[misc]
    check(whole)
    check(records_of(chunks[: data.draw(st.integers(0, len(chunks)))]))
    check(whole[: data.draw(st.integers(0, len(whole)))])


@given(agent_streams())
def test_each_result_ends_the_tool_that_it_is_of(chunks: list[Any]) -> None:
    records = records_of(chunks)
    ends = {r.event.call_id: r.at_ms for r in records if isinstance(r.event, ev.ToolActivity)}
    ran = {span.call_id: span.end_ms for span in timeline(records).spans if span.kind == "tool"}
    assert ran == ends


@given(agent_streams(), st.randoms(use_true_random=False))
def test_outputs_that_are_interleaved_are_in_order_too(chunks: list[Any], chance: Any) -> None:
    """Chunks of one output stay in their order; those of others come between them."""
    rows: dict[int, list[Any]] = {}
    for one in chunks:
        rows.setdefault(one.outputs[0].index, []).append(one)
    mixed: list[Any] = []
    while rows:
        index = chance.choice(list(rows)[:2])
        mixed.append(rows[index].pop(0))
        if not rows[index]:
            del rows[index]
    records = records_of(mixed)
    check_grammar([r.event for r in records])  # type: ignore[misc]
    check(records)

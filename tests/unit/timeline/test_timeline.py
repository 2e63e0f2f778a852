"""The phases of a stream in time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import events as ev
from headrace.content import TextContent
from headrace.events import Event, Record, UnknownEvent
from headrace.outcome import END_TURN, TOOL_USE, ErrorInfo, abort_reason
from headrace.timeline.lane import lanes
from headrace.timeline.pulse import MAX_BINS
from headrace.timeline.span import Span
from headrace.timeline.timeline import Gap, Timeline, TimelineReader, timeline
from headrace.usage import Usage
from headrace.wire.decoder import Decoder
from tests.dialect_streams import ANY_STREAM
from tests.wire import events_of
from tests.xai import as_grpc, seed_trace

Moment = tuple[int, Event | UnknownEvent]
NESTED = ("c1",)


def records(moments: Iterable[Moment], path: tuple[str, ...] = (), step: int = 0) -> list[Record]:
    return [Record(seq, at, event, path, step) for seq, (at, event) in enumerate(moments, 1)]


def of(*moments: Moment) -> Timeline:
    """The timeline of one turn that has begun at 0."""
    return timeline(records([(0, ev.TurnStarted(dialect="chat", model="m")), *moments]))


def thought(part: int, start: int, end: int, output: int = 0) -> list[Moment]:
    return [
        (start, ev.ReasoningStarted(part=part, output=output, item=part)),
        (start, ev.ReasoningDelta(part, "hm")),
        (end, ev.ReasoningFinished(part)),
    ]


def said(part: int, start: int, end: int, output: int = 0) -> list[Moment]:
    return [
        (start, ev.TextStarted(part=part, output=output, item=part)),
        (start, ev.TextDelta(part, "yes")),
        (end, ev.TextDelta(part, "!")),
        (end, ev.TextFinished(part)),
    ]


def call(
    part: int, start: int, end: int, call_id: str = "c1", *, executor: Any = "client"
) -> list[Moment]:
    numbers: dict[str, Any] = {"part": part, "output": 0, "item": part}
    return [
        (start, ev.ToolCallStarted(**numbers, call_id=call_id, name="find", executor=executor)),
        (start, ev.ToolCallArgsDelta(part, "{")),
        (end, ev.ToolCallArgsDelta(part, "}")),
        (end, ev.ToolCallFinished(part=part, call_id=call_id, name="find", args={}, raw="{}")),
    ]


def result(call_id: str = "c1", *, is_error: bool = False) -> ev.ToolResult:
    return ev.ToolResult(call_id=call_id, content=(TextContent("four"),), is_error=is_error)


def told(spans: Iterable[Span]) -> list[tuple[str, int, int]]:
    return [(span.kind, span.start_ms, span.end_ms) for span in spans]


# --- spans -----------------------------------------------------------------------


def test_phases_are_spans_with_their_counts() -> None:
    drawn = of(*thought(0, 10, 50), *said(1, 60, 90))
    assert told(drawn.spans) == [("reasoning", 10, 50), ("text", 60, 90)]
    assert [(span.deltas, span.chars) for span in drawn.spans] == [(1, 2), (2, 4)]
    assert (drawn.first_reasoning_ms, drawn.first_text_ms) == (10, 60)


def test_parts_with_nothing_between_them_are_one_span() -> None:
    drawn = of(*thought(0, 10, 20), *thought(1, 30, 40), *said(2, 40, 50), *thought(3, 60, 70))
    assert told(drawn.spans) == [("reasoning", 10, 40), ("text", 40, 50), ("reasoning", 60, 70)]
    assert [span.parts for span in drawn.spans] == [2, 1, 1]


def test_redacted_reasoning_is_a_part_of_it() -> None:
    redacted = ev.ReasoningRedacted(part=1, output=0, item=1, data="x")
    assert told(of((5, redacted)).spans) == [("reasoning", 5, 5)]
    drawn = of(*thought(0, 10, 20), (30, redacted))
    assert [(span.end_ms, span.parts) for span in drawn.spans] == [(30, 2)]


def test_a_span_is_given_when_something_else_comes() -> None:
    reader = TimelineReader()
    given = [told(reader.feed(record)) for record in records(thought(0, 1, 2) + said(1, 3, 4))]
    assert given == [[], [], [], [("reasoning", 1, 2)], [], [], []]
    assert told(reader.close()) == [("text", 3, 4)]
    assert reader.close() == []


def test_our_tool_runs_from_its_start_to_its_result() -> None:
    drawn = of(
        *call(0, 10, 20),
        (20, ev.TurnFinished(reason=TOOL_USE)),
        (30, ev.ToolStarted("c1")),
        (40, ev.ToolProgress(call_id="c1", progress=0.5)),
        (70, result(is_error=True)),
    )
    assert told(drawn.spans) == [("call", 10, 20), ("tool", 30, 70)]
    tool = drawn.spans[1]
    assert (tool.label, tool.call_id, tool.deltas, tool.chars) == ("find", "c1", 2, 4)
    assert [span.is_error for span in drawn.spans] == [False, True]


def test_a_result_of_what_never_ran_takes_no_time() -> None:
    assert of((30, result())).spans == ()


def test_malformed_arguments_are_an_error() -> None:
    start = call(0, 10, 20)[0]
    broken = ev.ToolCallMalformed(part=0, call_id="c1", name="find", raw="{", error="cut")
    (span,) = of(start, (30, broken)).spans
    assert (span.kind, span.end_ms, span.is_error) == ("call", 30, True)


def activity(status: str = "searching") -> ev.ToolActivity:
    return ev.ToolActivity(part=0, call_id="c1", status=status)


def output(part: int = 7) -> ev.ToolOutput:
    return ev.ToolOutput(part=part, output=0, item=part, call_id="c1", content=())


def test_a_tool_of_the_provider_runs_to_what_is_last_told_of_it() -> None:
    written = call(0, 10, 20, executor="provider")
    drawn = of(*written, (30, activity()), (60, output()), *said(8, 80, 90))
    assert told(drawn.spans) == [("call", 10, 20), ("tool", 20, 60), ("text", 80, 90)]


def test_arguments_that_are_told_when_the_tool_is_done_were_not_being_written() -> None:
    start, args, _, finished = call(0, 10, 60, executor="provider")
    drawn = of(start, (20, activity()), (60, activity("completed")), (60, args[1]), finished)
    assert told(drawn.spans) == [("call", 10, 10), ("tool", 10, 60)]
    later = [(61, args[1]), (70, args[1]), (70, finished[1])]
    drawn = of(start, (20, activity()), (60, activity("completed")), *later)
    assert told(drawn.spans) == [("call", 10, 10), ("tool", 10, 60)]


def test_a_tool_that_is_announced_early_runs_when_its_arguments_are_written() -> None:
    start, args, _, finished = call(0, 10, 60, executor="provider")
    moments = [start, (10, activity()), (20, args[1]), (50, args[1]), finished]
    drawn = of(*moments, (90, activity("completed")))
    assert told(drawn.spans) == [("call", 10, 50), ("tool", 50, 90)]
    told_no_more = of(*moments, *said(1, 80, 90), (90, ev.TurnFinished(reason=END_TURN)))
    assert told(told_no_more.spans)[:2] == [("call", 10, 50), ("tool", 50, 50)]


@pytest.mark.parametrize("executor", ["client", "provider"])
def test_arguments_that_come_whole_were_not_being_written_until_their_output_ends(
    executor: Any,
) -> None:
    start, args, _, finished = call(0, 10, 60, executor=executor)
    ended: Moment = (60, ev.OutputFinished(0, TOOL_USE))
    drawn = of(start, args, finished, ended, (60, ev.TurnFinished(reason=TOOL_USE)))
    assert told(drawn.spans) == [("call", 10, 10)]


def test_a_tool_of_the_provider_runs_on_when_its_output_has_ended() -> None:
    ended: Moment = (60, ev.OutputFinished(0, TOOL_USE))
    written = [*call(0, 10, 20, executor="provider"), ended]
    result_in_1 = ev.ToolOutput(part=7, output=1, item=7, call_id="c1", content=())
    assert told(of(*written, (90, result_in_1)).spans) == [("call", 10, 20), ("tool", 20, 90)]


def test_what_the_provider_says_is_the_end_of_its_tool_is() -> None:
    written = call(0, 10, 20, executor="provider")
    for status in ("completed", "failed", "incomplete"):
        drawn = of(*written, (50, activity(status)), (90, output()), *said(8, 95, 99))
        assert told(drawn.spans)[1] == ("tool", 20, 50)
        assert drawn.spans[1].is_error is (status == "failed")
    drawn = of(*written, (50, activity("completed")), (60, activity()), (70, activity("failed")))
    assert told(drawn.spans)[1] == ("tool", 20, 70)


@pytest.mark.parametrize("report", [[], [(30, ev.ToolActivity(part=0, call_id="c1", status="on"))]])
@pytest.mark.parametrize(
    "end",
    [
        [],
        [(80, ev.TurnFailed(category="incomplete", message=""))],
        [(80, ev.RunFinished(abort_reason("cancelled")))],
    ],
)
def test_a_tool_whose_stream_broke_off_ran_to_the_end(report: Any, end: Any) -> None:
    written = call(0, 10, 20, executor="provider")
    drawn = of(*written, *report, (80, ev.OutputFinished(0, None)), *end)
    assert told(drawn.spans) == [("call", 10, 20), ("tool", 20, 80)]


def test_the_searches_of_an_agent_run_until_their_results_come() -> None:
    chunks = seed_trace()
    times = [0, 700, 1000, 3500, 4300, *range(4600, 5500, 100)]
    decoder = Decoder("xai", framing="grpc")
    moments: list[Moment] = []
    for at, chunk in zip(times, chunks, strict=True):
        moments += [(at, event) for event in decoder.feed(as_grpc([chunk]))]
    moments += [(5400, event) for event in decoder.close()]
    drawn = timeline(records(moments))
    assert told(drawn.spans) == [
        ("call", 0, 0),
        ("tool", 0, 3500),
        ("call", 700, 700),
        ("tool", 700, 4300),
        ("text", 4600, 5400),
    ]


def test_what_comes_whole_is_a_moment_and_ends_a_phase() -> None:
    media = ev.MediaProduced(part=1, output=0, item=1, media_type="image/png", data="")
    opaque = ev.OpaqueItem(part=2, output=0, item=2, kind="odd", data="{}")
    drawn = of(*said(0, 1, 2), (3, media), (4, opaque), (5, output()), *said(3, 6, 7))
    kinds = [("text", 1, 2), ("media", 3, 3), ("opaque", 4, 4), ("tool", 5, 5), ("text", 6, 7)]
    assert told(drawn.spans) == kinds


def test_what_is_open_ends_at_the_last_time_seen() -> None:
    writing = call(1, 30, 40)[:2]
    running: Moment = (35, ev.ToolStarted("c9"))
    drawn = of(*thought(0, 10, 20)[:2], *writing, running, (50, UnknownEvent("odd", b"{}")))
    assert told(drawn.spans) == [("reasoning", 10, 30), ("call", 30, 50), ("tool", 35, 50)]


def test_time_does_not_go_back() -> None:
    drawn = of(*thought(0, 50, 20), (30, ev.TextStarted(part=1, output=0, item=1)))
    assert told(drawn.spans) == [("reasoning", 50, 50), ("text", 50, 50)]


# --- the whole -------------------------------------------------------------------


def test_nothing_is_a_timeline_too() -> None:
    drawn = timeline([])
    assert (drawn.spans, drawn.duration_ms, drawn.is_cut, drawn.gaps()) == ((), 0, True, [])
    assert lanes(drawn) == []


def test_a_stream_of_one_moment_has_no_rate() -> None:
    total = of(*said(0, 0, 0)).totals()["text"]
    assert (total.ms, total.chars, total.deltas, total.chars_per_s) == (0, 4, 2, None)


def test_totals_add_up_by_kind() -> None:
    totals = of(*said(0, 0, 500), *thought(1, 600, 700), *said(2, 1000, 2500)).totals()
    assert (totals["text"].ms, totals["text"].chars, totals["text"].chars_per_s) == (2000, 8, 4.0)
    assert totals["text"].spans == 2
    assert set(totals) == {"text", "reasoning"}


def test_gaps_are_a_second_and_a_tenth_of_the_whole_unless_told() -> None:
    drawn = of((900, activity()), (2000, activity()), (2200, activity()), (20_000, activity()))
    assert drawn.gaps() == [Gap(2200, 20_000)]
    assert drawn.gaps(1000) == [Gap(900, 2000), Gap(2200, 20_000)]
    assert len(drawn.gaps(0)) == 4


@pytest.mark.parametrize(
    ("last", "finish", "error"),
    [
        (ev.TurnFinished(reason=END_TURN), END_TURN, None),
        (ev.TurnFailed(category="server", message="no"), None, ErrorInfo("server", "no")),
        (UnknownEvent("odd", b"{}"), None, None),
    ],
)
def test_how_it_ended_is_told(last: Any, finish: Any, error: Any) -> None:
    drawn = of(*said(0, 0, 1), (2, last))
    assert (drawn.finish, drawn.error) == (finish, error)
    assert drawn.is_cut is (finish is None and error is None)


def test_a_run_ends_with_its_own_word_and_usage() -> None:
    ended_turn = ev.TurnFinished(reason=TOOL_USE, usage=USED)
    turn: list[Moment] = [(1, ev.TurnStarted(dialect="chat")), (2, ended_turn)]
    begun: list[Moment] = [(0, ev.RunStarted("r", "m")), *turn]
    cut = timeline(records(begun))
    assert (cut.is_cut, cut.usage, cut.model) == (True, USED, "m")
    twice = records(begun) + records(turn, step=1)
    assert (timeline(twice).usage, timeline(twice).steps) == (USED + USED, 2)
    ended = timeline(records([*begun, (9, ev.RunFinished(abort_reason("cancelled")))]))
    assert (ended.finish, ended.usage) == (abort_reason("cancelled"), USED)
    failed = timeline(records([*begun, (9, ev.RunFailed(category="network", message="gone"))]))
    assert failed.error == ErrorInfo("network", "gone")


USED = Usage(input_tokens=1, output_tokens=2)


def test_a_hundred_thousand_records_have_a_pulse_of_few_bins() -> None:
    deltas: list[Moment] = [(at, ev.TextDelta(0, "word ")) for at in range(100_000)]
    long = records([(0, ev.TextStarted(part=0, output=0, item=0)), *deltas])
    drawn = timeline(long)
    (pulse,) = drawn.pulses
    assert len(pulse.chars) <= MAX_BINS
    assert sum(pulse.chars) == drawn.spans[0].chars == 500_000


# --- lanes -----------------------------------------------------------------------


def test_lanes_are_thinking_doing_and_saying() -> None:
    drawn = of(*said(0, 1, 2), *call(1, 3, 4), *thought(2, 5, 6), *said(3, 7, 8))
    rows = [(lane.kind, lane.label, told(lane.spans)) for lane in lanes(drawn)]
    assert rows == [
        ("reasoning", "reasoning", [("reasoning", 5, 6)]),
        ("tool", "find", [("call", 3, 4)]),
        ("text", "text", [("text", 1, 2), ("text", 7, 8)]),
    ]


def test_tools_that_run_at_once_have_a_lane_each() -> None:
    started: list[Moment] = [(9, ev.ToolStarted(name)) for name in ("c1", "c2")]
    ended: list[Moment] = [(30, result("c2")), (40, result("c1"))]
    again: list[Moment] = [*call(2, 50, 55, "c3"), (60, ev.ToolStarted("c3")), (70, result("c3"))]
    drawn = of(*call(0, 1, 2), *call(1, 3, 4, "c2"), *started, *ended, *again)
    assert [told(lane.spans) for lane in lanes(drawn)] == [
        [("call", 1, 2), ("tool", 9, 40), ("call", 50, 55), ("tool", 60, 70)],
        [("call", 3, 4), ("tool", 9, 30)],
    ]
    assert [lane.calls for lane in lanes(drawn)] == [2, 1]


def test_candidates_have_lanes_of_their_own_and_successive_outputs_share_them() -> None:
    outputs: list[Moment] = [(0, ev.OutputStarted(number)) for number in (0, 1)]
    moments = [*outputs, *said(0, 1, 2, output=0), *said(1, 3, 4, output=1)]
    assert [(lane.output, len(lane.spans)) for lane in lanes(of(*moments))] == [(0, 1), (1, 1)]
    started = ev.TurnStarted(dialect="xai", outputs="successive")
    drawn = timeline(records([(0, started), *moments]))
    assert [(lane.output, len(lane.spans)) for lane in lanes(drawn)] == [(None, 2)]
    assert drawn.outputs == 2


def test_a_nested_run_has_lanes_of_its_own() -> None:
    outer = records([(0, ev.TurnStarted(dialect="chat")), *call(0, 1, 2)])
    inner = records([*thought(0, 5, 6), (7, ev.TurnFailed(category="server", message=""))], NESTED)
    drawn = timeline([*outer, *inner])
    assert [(lane.path, lane.label) for lane in lanes(drawn)] == [
        ((), "find"),
        (NESTED, "reasoning"),
    ]
    assert (drawn.first_reasoning_ms, drawn.error) == (None, None)


# --- properties ------------------------------------------------------------------


@given(data=st.data())
def test_lanes_never_overlap_durations_add_up_and_every_prefix_closes(
    data: st.DataObject,
) -> None:
    stream = data.draw(ANY_STREAM)
    events = events_of(stream.data, framing=stream.framing)
    pauses = data.draw(st.lists(st.integers(0, 900), min_size=len(events), max_size=len(events)))
    end = data.draw(st.integers(0, len(events)))
    times = [sum(pauses[: at + 1]) for at in range(len(events))]
    whole = records(zip(times, events, strict=True))
    check(timeline(whole), whole)
    check(timeline(whole[:end]), whole[:end])


def check(drawn: Timeline, stream: list[Record]) -> None:
    for lane in lanes(drawn):
        assert all(a.end_ms <= b.start_ms for a, b in pairwise(lane.spans))
    spans = [span for lane in lanes(drawn) for span in lane.spans]
    assert sorted(map(id, spans)) == sorted(map(id, drawn.spans))
    assert sum(total.ms for total in drawn.totals().values()) == sum(span.ms for span in spans)
    assert all(drawn.started_ms <= s.start_ms <= s.end_ms <= drawn.ended_ms for s in spans)
    said = [e for r in stream if isinstance(e := r.event, ev.TextDelta | ev.ReasoningDelta)]
    prose = [span for span in spans if span.kind in ("text", "reasoning")]
    assert sum(span.chars for span in prose) == sum(len(event.text) for event in said)
    assert sum(span.deltas for span in prose) == len(said)
    assert sum(sum(pulse.chars) for pulse in drawn.pulses) == sum(s.chars for s in prose)

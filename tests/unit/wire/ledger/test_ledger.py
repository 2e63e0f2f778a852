"""The ledger's rules, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.errors import LimitExceeded, WireError
from headrace.outcome import CONTENT_FILTER, END_TURN, MAX_TOKENS, TOOL_USE, ErrorInfo, other_reason
from headrace.usage import Usage
from headrace.wire.call_arguments import parse_arguments
from headrace.wire.ledger import Call, Ledger, Output
from headrace.wire.ledger import call as call_module
from headrace.wire.limits import WireLimits
from tests.grammar import check_grammar
from tests.wire import kinds, only


@pytest.fixture
def ledger() -> Ledger:
    return Ledger("test")


@pytest.fixture
def output(ledger: Ledger) -> Output:
    return ledger.output(0)


def begin(output: Output, call_id: str | None = None, name: str | None = "f", **more: Any) -> Call:
    return output.add_call(call_id=call_id, name=name, **more)


def ended(ledger: Ledger, *, has_terminator: bool = True) -> list[ev.TurnEvent]:
    """End the turn and check that all of it was legal."""
    ledger.end(has_terminator=has_terminator)
    events = ledger.take()
    check_grammar(events)
    return events


def calls(events: list[ev.TurnEvent]) -> list[tuple[str, Any]]:
    """Starts and ends of calls: what came in which order."""
    return [
        ("start", event.call_id) if isinstance(event, ev.ToolCallStarted) else ("end", event.raw)
        for event in events
        if isinstance(event, ev.ToolCallStarted | ev.ToolCallFinished | ev.ToolCallMalformed)
    ]


# --- text and reasoning -----------------------------------------------------------


def test_deltas_go_on_in_the_open_part_and_empty_ones_do_nothing(
    ledger: Ledger, output: Output
) -> None:
    output.add_text("")
    output.add_text("a")
    output.add_text("")
    output.add_text("b")
    events = ended(ledger)
    assert kinds(events)[2:6] == ["TextStarted", "TextDelta", "TextDelta", "TextFinished"]


def test_reasoning_after_text_after_reasoning_are_three_parts(
    ledger: Ledger, output: Output
) -> None:
    output.add_reasoning("1")
    output.add_text("2")
    output.add_reasoning("3")
    events = ended(ledger)
    assert [event.part for event in only(events, ev.ReasoningStarted, ev.TextStarted)] == [0, 1, 2]


def test_parts_of_one_item_share_its_number(ledger: Ledger, output: Output) -> None:
    output.add_text("a", "k", "block")
    output.add_text("b", "l", "other")
    output.add_text("c", "k", "block")
    starts = only(ended(ledger), ev.TextStarted)
    assert [(start.part, start.item) for start in starts] == [(0, 0), (1, 1), (2, 0)]


def test_a_signature_ends_with_its_part_or_seals_it_later(ledger: Ledger, output: Output) -> None:
    output.add_reasoning("1", "a", "a")
    output.sign("sig-a", "a", "a")
    output.add_reasoning("2", "b", "b")
    output.add_text("3")
    output.sign("sig-b", "b", "b")
    events = ended(ledger)
    assert only(events, ev.ReasoningFinished) == [
        ev.ReasoningFinished(0, "sig-a"),
        ev.ReasoningFinished(1, None),
    ]
    assert only(events, ev.PartSealed) == [ev.PartSealed(1, "signature", "sig-b")]


def test_a_signature_without_words_is_a_part(ledger: Ledger, output: Output) -> None:
    output.sign("sig", "a", "a")
    events = ended(ledger)
    assert kinds(events)[2:4] == ["ReasoningStarted", "ReasoningFinished"]
    assert only(events, ev.ReasoningFinished)[0].signature == "sig"


def test_whole_parts_close_the_open_one_so_that_order_is_kept(
    ledger: Ledger, output: Output
) -> None:
    output.add_text("before")
    output.add_opaque("odd", "{}")
    output.add_text("after")
    output.add_redacted("x")
    output.add_media("image/png", data="aGk=")
    output.add_tool_output("c", ())
    starts = [e for e in ended(ledger) if hasattr(e, "item")]
    assert kinds(starts) == [
        "TextStarted",
        "OpaqueItem",
        "TextStarted",
        "ReasoningRedacted",
        "MediaProduced",
        "ToolOutput",
    ]


# --- calls ------------------------------------------------------------------------


def test_a_second_call_closes_the_first_when_its_arguments_are_whole(
    ledger: Ledger, output: Output
) -> None:
    first = begin(output, "a")
    output.add_args(first, '{"x": 1}')
    second = begin(output, "b")
    output.add_args(second, "{}")
    assert calls(ended(ledger)) == [
        ("start", "a"),
        ("end", '{"x": 1}'),
        ("start", "b"),
        ("end", "{}"),
    ]


def test_an_interleaved_call_is_held_back_until_the_first_ends(
    ledger: Ledger, output: Output
) -> None:
    first, second = begin(output, "a"), begin(output, "b")
    for piece in ('{"x"', ": [1", "]}"):
        output.add_args(first, piece)
        output.add_args(second, piece)
    held = ledger.take()
    assert calls(held) == [("start", "a")]
    ledger.end(has_terminator=True)
    events = held + ledger.take()
    check_grammar(events)
    assert calls(events)[1:] == [("end", '{"x": [1]}'), ("start", "b"), ("end", '{"x": [1]}')]


def test_a_held_call_starts_as_soon_as_the_first_is_said_to_be_whole(
    ledger: Ledger, output: Output
) -> None:
    first, second, third = begin(output, "a"), begin(output, "b"), begin(output, "c")
    output.add_args(second, "{}")
    output.add_args(third, '{"z":')
    output.end_call(second)
    output.end_call(first)
    assert [n for n, _ in calls(ledger.take())] == ["start", "end", "start", "end", "start"]


def test_text_is_never_held_back_by_a_call(ledger: Ledger, output: Output) -> None:
    call = begin(output, "a")
    output.add_args(call, '{"x":')
    output.add_text("meanwhile")
    assert only(ledger.take(), ev.TextDelta)[0].text == "meanwhile"
    output.add_args(call, "1}")
    ledger.end(has_terminator=True)
    assert only(ledger.take(), ev.ToolCallFinished)[0].args == {"x": 1}


def test_provider_run_calls_may_be_open_together(ledger: Ledger, output: Output) -> None:
    one = begin(output, "p1", executor="provider")
    two = begin(output, "p2", executor="provider")
    ours = begin(output, "c")
    assert [c for _, c in calls(ledger.take())] == ["p1", "p2", "c"]
    output.add_activity(one, "searching", {"query": "q"})
    output.add_args(two, "{}")
    output.end_call(two)
    output.add_args(ours, "{}")
    output.end_call(one)
    ledger.end(has_terminator=True)
    events = ledger.take()
    assert only(events, ev.ToolActivity)[0].status == "searching"
    assert len(only(events, ev.ToolCallFinished)) == 3


def test_a_late_name_holds_the_call_back_and_nothing_is_lost(
    ledger: Ledger, output: Output
) -> None:
    call = begin(output, "a", name=None)
    output.add_args(call, '{"x":')
    assert calls(ledger.take()) == []
    output.fill_in_call(call, name="late")
    output.add_args(call, "1}")
    events = ended_after_start(ledger)
    assert only(events, ev.ToolCallFinished)[0].name == "late"
    assert only(events, ev.ToolCallFinished)[0].args == {"x": 1}


def ended_after_start(ledger: Ledger) -> list[ev.TurnEvent]:
    ledger.end(has_terminator=True)
    return ledger.take()


def test_a_late_id_is_taken_while_nothing_was_said(ledger: Ledger, output: Output) -> None:
    call = begin(output, None)
    output.fill_in_call(call, call_id="late")
    output.add_args(call, "{}")
    assert only(ended(ledger), ev.ToolCallStarted)[0].call_id == "late"


def test_a_call_without_a_name_is_malformed(ledger: Ledger, output: Output) -> None:
    output.add_args(begin(output, "a", name=None), "{}")
    assert "no name" in only(ended(ledger), ev.ToolCallMalformed)[0].error


def test_missing_and_repeated_ids_become_unique_ones(ledger: Ledger, output: Output) -> None:
    for call_id in (None, "x", "x", "", "x"):
        output.end_call(begin(output, call_id))
    started = only(ended(ledger), ev.ToolCallStarted)
    assert [call.call_id for call in started] == ["call_0", "x", "x~2", "call_3", "x~3"]


@pytest.mark.parametrize("raw", ["", "  ", "null", "\n"])
def test_no_arguments_are_an_empty_object(ledger: Ledger, output: Output, raw: str) -> None:
    output.add_args(begin(output, "a"), raw)
    assert only(ended(ledger), ev.ToolCallFinished)[0].args == {}


@pytest.mark.parametrize("raw", ['{"a', "{}}", "nul", "{'a': 1}"])
def test_arguments_that_never_become_json_are_malformed(
    ledger: Ledger, output: Output, raw: str
) -> None:
    output.add_args(begin(output, "a"), raw)
    malformed = only(ended(ledger), ev.ToolCallMalformed)[0]
    assert malformed.raw == raw
    assert malformed.error


def test_a_blank_after_the_arguments_does_not_hold_the_next_call_back(
    ledger: Ledger, output: Output
) -> None:
    first = begin(output, "a")
    output.add_args(first, '{"x": "}"}')
    output.add_args(first, " ")
    begin(output, "b")
    assert calls(ledger.take()) == [("start", "a"), ("end", '{"x": "}"} '), ("start", "b")]


def test_arguments_are_parsed_once_however_often_text_comes_between(
    ledger: Ledger, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counting(raw: str, max_depth: int) -> Any:
        parsed.append(raw)
        return parse_arguments(raw, max_depth)

    monkeypatch.setattr(call_module, "parse_arguments", counting)
    call = begin(output, "a")
    output.add_args(call, '{"x": [')
    for _ in range(50):
        output.add_args(call, "{}, {}")
        output.add_text("t")
        output.add_reasoning("r")
        output.add_args(call, ",")
    output.add_args(call, "1]}")
    ledger.end(has_terminator=True)
    assert len(parsed) == 1
    assert only(ledger.take(), ev.ToolCallFinished)


@pytest.mark.parametrize("asks", [False, True])
def test_thousands_of_fragments_are_joined_and_still_followed(
    ledger: Ledger, output: Output, asks: bool
) -> None:
    """Whether or not somebody asks in between if the arguments are whole."""
    call = begin(output, "a")
    text = '{"x": "' + "y{" * 3_000 + '"}'
    for at, character in enumerate(text):
        output.add_args(call, character)
        if asks and at % 500 == 3:
            assert not call.is_whole(8)
    assert call.is_whole(8)
    assert call.raw == text
    assert call.args == {"x": "y{" * 3_000}


def test_a_text_call_is_not_parsed(ledger: Ledger, output: Output) -> None:
    output.add_args(begin(output, "a", input="text"), "SELECT {")
    assert only(ended(ledger), ev.ToolCallFinished)[0].args == "SELECT {"


def test_arguments_for_a_call_that_has_ended_are_an_error_but_blanks_are_not(
    ledger: Ledger, output: Output
) -> None:
    call = begin(output, "a")
    output.add_args(call, "{}")
    output.end_call(call)
    output.add_args(call, "\n ")
    with pytest.raises(WireError, match="had ended"):
        output.add_args(call, "{}")


def test_a_start_without_arguments_is_malformed_where_the_stream_was_cut(
    ledger: Ledger, output: Output
) -> None:
    """Never `{}`: nobody knows what the model would have written."""
    begin(output, "a")
    ledger.fail(ErrorInfo("incomplete", "cut"))
    assert "ended before" in only(ledger.take(), ev.ToolCallMalformed)[0].error


def test_the_same_holds_where_the_model_ran_out_of_tokens(ledger: Ledger, output: Output) -> None:
    begin(output, "a")
    output.finish(MAX_TOKENS, "length")
    assert only(ended(ledger), ev.ToolCallMalformed)


# --- ends -------------------------------------------------------------------------


def test_the_first_real_reason_wins(ledger: Ledger, output: Output) -> None:
    output.finish(None, None)
    output.finish(MAX_TOKENS, "length")
    output.finish(END_TURN, "stop")
    assert only(ended(ledger), ev.TurnFinished)[0].reason == MAX_TOKENS


def test_calls_decide_that_a_turn_wants_tools(ledger: Ledger, output: Output) -> None:
    begin(output, "a")
    output.finish(END_TURN, "stop")
    finished = only(ended(ledger), ev.TurnFinished)[0]
    assert (finished.reason, finished.raw_reason) == (TOOL_USE, "stop")


def test_a_filter_stays_a_filter_even_with_calls(ledger: Ledger, output: Output) -> None:
    begin(output, "a")
    output.finish(CONTENT_FILTER, "content_filter")
    assert only(ended(ledger), ev.TurnFinished)[0].reason == CONTENT_FILTER


def test_a_terminator_without_a_reason_is_other(ledger: Ledger, output: Output) -> None:
    output.add_text("a")
    assert only(ended(ledger), ev.TurnFinished)[0].reason == other_reason("")


def test_a_terminator_without_a_reason_after_skipped_frames_is_a_failure(
    ledger: Ledger, output: Output
) -> None:
    ledger.skip_frame(b"x", "no JSON")
    failed = only(ended(ledger), ev.TurnFailed)[0]
    assert (failed.category, failed.skipped_frames) == ("protocol", 1)


def test_neither_reason_nor_terminator_is_a_cut(ledger: Ledger, output: Output) -> None:
    failed = only(ended(ledger, has_terminator=False), ev.TurnFailed)[0]
    assert failed.category == "incomplete"
    assert failed.retryable


def test_one_cut_candidate_without_a_terminator_is_a_cut(ledger: Ledger) -> None:
    ledger.output(0).finish(END_TURN, "stop")
    ledger.output(1).add_text("half")
    assert only(ended(ledger, has_terminator=False), ev.TurnFailed)


def test_the_last_agent_output_must_have_ended() -> None:
    ledger = Ledger("test", outputs="successive")
    ledger.output(0).finish(TOOL_USE, "tools")
    ledger.output(3).add_text("half")
    assert only(ended(ledger, has_terminator=False), ev.TurnFailed)


def test_a_call_that_the_provider_runs_is_no_end_of_an_agents_turn() -> None:
    """Another step must follow: a stream that is cut there is cut."""
    ledger = Ledger("test", outputs="successive")
    step = ledger.output(0)
    begin(step, "c1", executor="provider")
    step.finish(TOOL_USE, "tools")
    ledger.output(1, "tool").finish(END_TURN, "stop")
    assert not ledger.is_end_known()
    assert only(ended(ledger, has_terminator=False), ev.TurnFailed)[0].category == "incomplete"


@pytest.mark.parametrize("is_mixed", [False, True])
def test_a_call_of_ours_ends_an_agents_turn(is_mixed: bool) -> None:
    ledger = Ledger("test", outputs="successive")
    step = ledger.output(0)
    begin(step, "c1")
    if is_mixed:
        begin(step, "c2", executor="provider")
    step.finish(TOOL_USE, "tools")
    ledger.output(1, "tool")
    assert ledger.is_end_known()
    assert only(ended(ledger, has_terminator=False), ev.TurnFinished)[0].reason == TOOL_USE


def test_the_start_may_tell_what_outputs_are(ledger: Ledger) -> None:
    ledger.start(outputs="successive")
    ledger.start(outputs="candidates")
    assert [started.outputs for started in only(ledger.take(), ev.TurnStarted)] == ["successive"]
    assert ledger.outputs_kind == "successive"


def test_the_turn_ends_as_its_last_assistant_output() -> None:
    ledger = Ledger("test", outputs="successive")
    ledger.output(0).finish(TOOL_USE, "tools")
    ledger.output(3).finish(END_TURN, "stop")
    ledger.output(4, "tool").finish(other_reason("x"), "x")
    assert only(ended(ledger), ev.TurnFinished)[0].reason == END_TURN


def test_nothing_comes_after_the_end(ledger: Ledger, output: Output) -> None:
    ended(ledger)
    ledger.end(has_terminator=True)
    ledger.fail(ErrorInfo("unknown", "late"))
    assert ledger.take() == []


def test_a_turn_that_says_nothing_still_starts_and_ends(ledger: Ledger) -> None:
    assert kinds(ended(ledger, has_terminator=False)) == ["TurnStarted", "TurnFailed"]


def test_an_output_without_a_part_starts_and_ends(ledger: Ledger, output: Output) -> None:
    assert kinds(ended(ledger))[1:3] == ["OutputStarted", "OutputFinished"]


def test_an_output_that_goes_on_after_its_end_is_an_error(ledger: Ledger, output: Output) -> None:
    output.close(is_cut=False)
    with pytest.raises(WireError, match="after its end"):
        output.add_text("more")


def test_numbers_go_on_where_the_last_turn_stopped() -> None:
    ledger = Ledger("test", first_item=5, first_part=7)
    ledger.output(0).add_text("a")
    start = only(ended(ledger), ev.TextStarted)[0]
    assert (start.part, start.item) == (7, 5)
    assert (ledger.counters.next_part, ledger.counters.next_item) == (8, 6)


def test_usage_and_notes_reach_the_end(ledger: Ledger, output: Output) -> None:
    ledger.report(Usage(input_tokens=3))
    ledger.report(Usage(output_tokens=4))
    ledger.note("created", 1)
    ledger.service_tier = "priority"
    finished = only(ended(ledger), ev.TurnFinished)[0]
    assert finished.usage == Usage(input_tokens=3, output_tokens=4)
    assert (finished.provider_data, finished.service_tier) == ({"created": 1}, "priority")


# --- limits -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "act"),
    [
        ("max_parts", lambda o: [o.add_text("x", n) for n in range(10)]),
        ("max_calls", lambda o: [begin(o, str(n)) for n in range(10)]),
        ("max_part_chars", lambda o: [o.add_text("xxxx") for _ in range(10)]),
        ("max_part_chars", lambda o: [o.add_reasoning("xxxx") for _ in range(10)]),
        ("max_part_chars", lambda o: o.add_args(begin(o, "a"), "x" * 10)),
        (
            "max_held_chars",
            lambda o: [o.add_args(c, "xxx") for c in (begin(o), begin(o), begin(o))],
        ),
    ],
)
def test_every_limit_is_named(limit: str, act: Any) -> None:
    small = WireLimits(**({"max_held_chars": 5} if limit == "max_held_chars" else {limit: 5}))
    ledger = Ledger("test", limits=small)
    with pytest.raises(LimitExceeded, match=limit) as caught:
        act(ledger.output(0))
    ledger.fail(ErrorInfo("protocol", str(caught.value)))
    check_grammar(ledger.take())


def test_too_many_outputs_and_skipped_frames_are_limits_too() -> None:
    ledger = Ledger("test", limits=WireLimits(max_outputs=2, max_skipped_frames=1))
    ledger.output(1_000_000_000)
    ledger.output(-1)
    with pytest.raises(LimitExceeded, match="max_outputs"):
        ledger.output(2)
    ledger.skip_frame(b"x", "no JSON")
    with pytest.raises(LimitExceeded, match="max_skipped_frames"):
        ledger.skip_frame(b"x", "no JSON")

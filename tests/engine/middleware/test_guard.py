"""Whatever middleware makes of the events of a run, what is written is a legal run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine.middleware.guard.guard import PLACEHOLDER, Guard
from headrace.events import Event
from headrace.outcome import END_TURN, abort_reason, other_reason
from headrace.usage import Usage
from tests.engine.middleware.guarded import (
    TALK,
    Rewrite,
    a_run,
    a_turn,
    called,
    folded,
    on,
    only,
    result,
    text,
    without,
    written,
)

replace = msgspec.structs.replace


# --- nothing changed, nothing touched ------------------------------------------------------


def test_what_nobody_changes_is_written_as_it_came() -> None:
    told = written(TALK, lambda event: event)
    assert all(one is other for one, other in zip(told, TALK, strict=True))


def test_equal_events_are_written_as_equal_events() -> None:
    assert written(TALK, msgspec.structs.replace) == TALK


# --- bones ---------------------------------------------------------------------------------


def test_a_run_of_which_everything_is_left_out_keeps_its_bones() -> None:
    kinds = [type(event).__name__ for event in written(TALK, lambda event: None)]
    assert kinds == [
        "RunStarted", "StepStarted", "TurnStarted", "OutputStarted", "OutputFinished",
        "TurnFinished", "ToolStarted", "ToolResult", "ToolStarted", "ToolResult", "StepFinished",
        "StepStarted", "TurnStarted", "OutputStarted", "OutputFinished", "TurnFinished",
        "StepFinished", "RunFinished",
    ]  # fmt: skip


def test_a_bone_is_put_back_in_the_latest_form_that_a_rewriter_gave_it() -> None:
    said = ev.ToolResult(call_id="a", content=(TextContent("secret"),))
    redacted = ev.ToolResult(call_id="a", content=(TextContent("[redacted]"),))
    assert Guard().feed(said, [], redacted) == [redacted]


@pytest.mark.parametrize("form", [
    ev.ToolResult(call_id="another", content=(TextContent("of another"),)),
    ev.ToolProgress(call_id="a"),
    ev.ToolResult(call_id="a", content=(object(),)),  # type: ignore[arg-type]
])  # fmt: skip
def test_a_form_that_is_none_is_withheld(form: Event) -> None:
    said = ev.ToolResult(call_id="a", content=(TextContent("secret"),))
    (told,) = Guard().feed(said, [], form)
    assert told == Guard.placeholder(said)


def test_a_bone_that_was_moved_or_broken_is_put_back() -> None:
    def change(event: ev.ToolResult) -> Event:
        return replace(event, call_id="x") if event.call_id == "a" else replace(event, content=1)

    told = written(TALK, on(ev.ToolResult, change))
    assert only(told, ev.ToolResult) == only(TALK, ev.ToolResult)


def test_a_nudge_may_be_changed_but_not_added_or_taken() -> None:
    ends = [ev.StepFinished(0, "Go on."), ev.StepFinished(1)]
    for nudge, told in (("Do.", "Do."), ("", PLACEHOLDER), (None, PLACEHOLDER)):
        form = replace(ends[0], nudge=nudge)
        assert Guard().feed(ends[0], [form], form) == [ev.StepFinished(0, told)]
    for nudge in ("Do.", ""):
        form = replace(ends[1], nudge=nudge)
        assert Guard().feed(ends[1], [form], form) == [ends[1]]


def test_a_part_of_the_models_stays_in_its_item() -> None:
    told = written(TALK, on(ev.TextStarted, lambda event: replace(event, item=0)))
    assert told == TALK


def test_a_bone_stands_once_and_the_original_wins_over_an_old_one() -> None:
    old = ev.TurnFinished(reason=END_TURN, usage=Usage(output_tokens=99))
    told = written(TALK, on(ev.TurnFinished, lambda event: [old, event, old]))
    assert only(told, ev.TurnFinished) == only(TALK, ev.TurnFinished)


SECRET = "sk-secret"
STRUCTURAL: list[Event] = [
    ev.ToolResult(call_id="a", content=(TextContent(SECRET),), kind=SECRET),
    ev.TurnFailed(category="server", message=SECRET, code=SECRET),
    ev.RunFailed(category="server", message=SECRET),
    ev.StepDiscarded(0, SECRET),
    ev.StepFinished(0, SECRET),
    ev.OutputFinished(0, other_reason(SECRET), SECRET),
    ev.TurnFinished(reason=other_reason(SECRET), raw_reason=SECRET, provider_data={"a": SECRET}),
    ev.RunFinished(other_reason(SECRET)),
]


@pytest.mark.parametrize("event", STRUCTURAL, ids=lambda event: type(event).__name__)
def test_a_bone_whose_rewriter_failed_says_nothing(event: Event) -> None:
    guard = Guard()
    guard.feed(ev.TurnStarted(dialect="chat"), [])
    guard.feed(ev.OutputStarted(0), [])
    (told,) = guard.feed(event, [], guard.placeholder(event))
    assert type(told) is type(event)
    assert SECRET not in str(told)


def test_a_withheld_result_is_an_error_that_says_so() -> None:
    told = Guard.placeholder(STRUCTURAL[0])
    assert isinstance(told, ev.ToolResult)
    assert told.is_error
    assert told.content == (TextContent(PLACEHOLDER),)


def test_why_a_run_was_aborted_is_not_withheld() -> None:
    end = ev.RunFinished(abort_reason("terminated", "enough"))
    assert Guard.placeholder(end) == end


# --- events beside a event ------------------------------------------------------------------


# Only while a call of the step is known.
PROGRESS: dict[type[Any], int] = {ev.ToolResult: 2, ev.StepFinished: 1}


@pytest.mark.parametrize("kind", [
    ev.RunStarted, ev.StepStarted, ev.TurnStarted, ev.OutputStarted, ev.OutputFinished,
    ev.TurnFinished, ev.ToolResult, ev.StepFinished, ev.RunFinished,
])  # fmt: skip
@pytest.mark.parametrize("is_before", [True, False])
def test_events_beside_a_bone_stand_where_they_may(kind: type[Any], is_before: bool) -> None:
    more = [*text(90, "more"), ev.CitationAdded(ref="u"), ev.ToolProgress(call_id="a")]
    told = written(TALK, on(kind, lambda event: [*more, event] if is_before else [event, *more]))
    is_in_turn = kind in (ev.OutputStarted, ev.OutputFinished)
    assert ("more" in str(told)) == is_in_turn
    assert len(only(told, ev.ToolProgress)) == PROGRESS.get(kind, 0)


def test_what_is_flushed_with_the_end_of_a_turn_comes_too_late() -> None:
    told = written(TALK, on(ev.TurnFinished, lambda event: [ev.TextDelta(5, "late"), event]))
    assert told == TALK


# --- parts that lost something -------------------------------------------------------------


@pytest.mark.parametrize("kind", [ev.TextFinished, ev.ReasoningFinished, ev.ToolCallFinished])
def test_a_part_that_lost_its_end_is_closed(kind: type[Any]) -> None:
    message = folded(written(TALK, without(kind)))
    assert all(part.ended_ms is not None for turn in message.turns for part in turn.parts)
    assert [len(turn.parts) for turn in message.turns] == [4, 2]


def test_a_call_that_lost_its_end_says_so_and_what_it_was() -> None:
    told = written(TALK, without(ev.ToolCallFinished))
    first, _ = only(told, ev.ToolCallMalformed)
    assert (first.call_id, first.name, first.raw) == ("a", "add", '{"a":1}')
    assert "left out the end" in first.error


@pytest.mark.parametrize("kind", [ev.TextStarted, ev.ReasoningStarted, ev.ToolCallStarted])
def test_a_part_that_is_left_out_leaves_no_gap(kind: type[Any]) -> None:
    told = written(TALK, without(kind))
    starts = only(told, ev.TextStarted, ev.ReasoningStarted, ev.ToolCallStarted)
    assert [start.part for start in starts] == list(range(len(starts)))
    lost = {event.part for event in TALK if isinstance(event, kind)}
    assert len(only(told, ev.TextDelta, ev.ReasoningDelta, ev.ToolCallArgsDelta)) == sum(
        event.part not in lost
        for event in only(TALK, ev.TextDelta, ev.ReasoningDelta, ev.ToolCallArgsDelta)
    )


def test_what_belongs_to_a_part_that_is_left_out_goes_with_it() -> None:
    beside: list[Event] = [
        ev.PartSealed(0, "encrypted", "E"),
        ev.CitationAdded(part=0, quote="secret"),
        ev.CitationAdded(ref="kept"),
        ev.ToolActivity(part=0, call_id="p", status="searching"),
        ev.ToolOutput(part=1, output=0, item=1, call_id="p", content=()),
    ]
    search = called(0, "p", executor="provider")
    events = a_run(a_turn(*search, *beside, *text(2, "Found.")))
    assert written(events, lambda event: event) == events
    told = written(events, without(ev.ToolCallStarted))
    assert told[4:] == [ev.CitationAdded(ref="kept"), *told[5:]]
    assert only(told, ev.PartSealed, ev.ToolActivity, ev.ToolOutput) == []


def test_empty_deltas_and_deltas_of_another_kind_are_left_out() -> None:
    def change(event: ev.TextDelta) -> list[Event]:
        wrong: list[Event] = [
            ev.ReasoningDelta(event.part, "x"),
            ev.TextFinished(99),
            ev.ReasoningFinished(1),
        ]
        return [ev.TextDelta(event.part, ""), *wrong, event, ev.ToolCallArgsDelta(event.part, "x")]

    assert written(TALK, on(ev.TextDelta, change)) == TALK


# --- parts that are added ------------------------------------------------------------------


def banner(part: int) -> Rewrite:
    return adding(text(part, "[checked]"))


@pytest.mark.parametrize("part", [0, 1, 3, 4, 6, 77])
def test_an_added_part_takes_nobodys_number(part: int) -> None:
    message = folded(written(TALK, banner(part)))
    assert [turn.text for turn in message.turns] == ["One[checked]", "Done.[checked]"]
    parts = [part for turn in message.turns for part in turn.parts]
    assert [part.part for part in parts] == list(range(8))
    assert len({part.item for part in parts}) == 8


def test_an_added_part_before_the_models_own_of_the_same_number() -> None:
    rewrite = on(ev.TextStarted, lambda event: [*text(event.part, "> "), event])
    message = folded(written(TALK, rewrite))
    assert [turn.text for turn in message.turns] == ["> One", "> Done."]


def test_an_added_part_that_is_left_open_ends_with_the_next() -> None:
    rewrite = on(ev.OutputStarted, lambda event: [event, *text(1, "> ")[:-1]])
    message = folded(written(TALK, rewrite))
    assert [turn.text for turn in message.turns] == ["> One", "> Done."]


def test_an_added_part_does_not_end_one_that_the_model_is_telling() -> None:
    rewrite = on(ev.TextDelta, lambda event: [*text(50, "!"), event, event])
    message = folded(written(TALK, rewrite))
    assert [turn.text for turn in message.turns] == ["OneOne", "DoneDone.."]


def test_a_start_that_comes_twice_is_one_start() -> None:
    assert written(TALK, on(ev.TextStarted, lambda event: [event, event])) == TALK
    assert written(TALK, on(ev.ToolCallStarted, lambda event: [event, event])) == TALK


def test_an_added_call_needs_an_id_of_its_own() -> None:
    for call_id, count in (("a", 2), ("", 2), ("new", 3)):
        told = written(TALK, adding(called(50, call_id)))
        assert len(only(told, ev.ToolCallStarted)) == count


def adding(more: list[Event]) -> Rewrite:
    return on(ev.OutputFinished, lambda event: [*more, event])


def test_a_part_of_an_output_that_is_not_open_is_left_out() -> None:
    rewrite = on(ev.OutputFinished, lambda event: [*text(50, "x", output=7), event])
    assert written(TALK, rewrite) == TALK


def test_tools_start_when_the_engine_says_so() -> None:
    more = [ev.ToolStarted("b"), ev.ToolProgress(call_id="zz"), ev.RunClosed("committed")]
    rewrite = on(ev.ToolStarted, lambda event: [event, event, *more])
    starts = only(written(TALK, rewrite), ev.ToolStarted, ev.ToolProgress, ev.RunClosed)
    assert starts == [ev.ToolStarted("a"), ev.ToolStarted("b")]


def test_the_numbers_stay_right_when_a_step_is_taken_back() -> None:
    failed = ev.TurnFailed(category="overloaded", message="m", retryable=True)
    first = a_turn(*text(0, "Ha"), *called(1, "a"), end=failed)
    second = a_turn(*text(2, "Hello"), *called(3, "a"))
    events = a_run([*first, ev.StepDiscarded(0, "m"), *second, *result("a")])
    for rewrite in (without(), banner(2), without(ev.TextStarted), without(ev.ToolCallStarted)):
        assert written(events, rewrite)
    message = folded(written(events, banner(2)))
    assert [turn.text for turn in message.turns] == ["Hello[checked]"]
    assert [part.part for part in message.turns[0].parts] == [3, 4, 5]


def test_a_part_that_is_held_back_keeps_its_place_in_the_numbers() -> None:
    """A rewriter that tells a text only as a whole."""
    held: list[Event] = []

    def hold(event: Event) -> Any:
        if isinstance(event, ev.TextStarted | ev.TextDelta):
            held.append(event)
            return None
        if isinstance(event, ev.TextFinished):
            told = [*held, event]
            held.clear()
            return told
        return event

    assert written(TALK, hold) == TALK


# --- what is no event ----------------------------------------------------------------------


def test_what_cannot_be_logged_is_left_out() -> None:
    def change(event: Any) -> Any:
        if isinstance(event, ev.TextDelta):
            return [replace(event, text=None), replace(event, text="\ud800"), event]
        if isinstance(event, ev.TextStarted):
            return [replace(event, part="x"), replace(event, output=[]), event]
        return [event, ev.PhaseChanged(0, "content", "init"), ev.CitationAdded(raw=object())]

    assert written(TALK, change) == TALK

"""Phases over turns: statuses, starts, deltas and completes, and when each is told."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.errors import UsageError
from headrace.outcome import END_TURN, TOOL_USE, abort_reason
from headrace.phases import Notice, PhaseTracker
from headrace.usage import Usage
from tests.phases.records import Turn, records


def told(events: list[ev.Event], mode: Any = "transition", **options: Any) -> list[Notice]:
    tracker = PhaseTracker(mode)
    notices = [n for record in records(events, **options) for n in tracker.feed(record)]
    return notices + tracker.close()


def names(notices: list[Notice]) -> list[str]:
    """Name and output of each, without changes of phase."""
    return [f"{n.name} {n.context.output}" for n in notices if n.name != "phase_change"]


def changes(notices: list[Notice]) -> list[tuple[int, str, str]]:
    found = [n.value for n in notices if n.name == "phase_change"]
    return [(change.output, change.phase, change.status) for change in found]


def test_reasoning_then_text() -> None:
    events = Turn().output(0).reasoning("a", "b").text("c").end_output().end()
    notices = told(events)
    assert names(notices) == [
        "reasoning_start 0",
        "reasoning_delta 0",
        "reasoning_delta 0",
        "content_start 0",
        "content_delta 0",
        "reasoning_complete 0",
        "content_complete 0",
    ]
    assert changes(notices) == [
        (0, "reasoning", "pending"),
        (0, "reasoning", "complete"),
        (0, "content", "pending"),
        (0, "content", "complete"),
    ]


def test_the_phase_mode_tells_at_once() -> None:
    events = Turn().output(0).reasoning("a").text("b").end_output().end()
    assert names(told(events, "phase")) == [
        "reasoning_start 0",
        "reasoning_delta 0",
        "reasoning_complete 0",
        "content_start 0",
        "content_delta 0",
        "content_complete 0",
    ]


def test_reasoning_that_resumes_is_pending_again_and_told_once() -> None:
    events = Turn().output(0).reasoning("a").text("b").reasoning("c").text("d").end_output().end()
    for mode in ("transition", "phase"):
        notices = told(events, mode)
        assert names(notices).count("reasoning_complete 0") == 1
        assert names(notices).count("reasoning_start 0") == 1
        statuses = [status for _, phase, status in changes(notices) if phase == "reasoning"]
        assert statuses == ["pending", "complete", "pending", "complete"]


def test_an_agents_output_is_complete_when_a_later_one_begins() -> None:
    turn = Turn(outputs="successive").output(0).reasoning("a").call("s", {}, executor="provider")
    turn.end_output(0, TOOL_USE).output(2, "tool").output(5).text("b").end_output(5)
    notices = told(turn.end())
    assert names(notices) == [
        "reasoning_start 0",
        "reasoning_delta 0",
        "provider_call 0",
        "reasoning_complete 0",
        "content_start 5",
        "content_delta 5",
        "content_complete 5",
    ]
    assert [n.context.total_outputs for n in notices if n.name == "content_complete"] == [3]


def test_a_complete_has_the_context_of_its_own_output() -> None:
    turn = Turn(outputs="successive").output(0).reasoning("a").end_output(0).output(1).text("b")
    notices = told(turn.end_output(1).end())
    complete = next(n for n in notices if n.name == "reasoning_complete")
    assert (complete.context.output, complete.context.reasoning) == (0, "complete")
    after = notices.index(complete)
    assert not [n for n in notices[:after] if n.context.output == 1]


def test_candidates_are_complete_at_their_own_finish() -> None:
    turn = Turn().output(0).reasoning("a").output(1).reasoning("b")
    turn.end_output(1)
    turn.back_to(0).text("c").end_output(0)
    assert names(told(turn.end())) == [
        "reasoning_start 0",
        "reasoning_delta 0",
        "reasoning_start 1",
        "reasoning_delta 1",
        "reasoning_complete 1",
        "content_start 0",
        "content_delta 0",
        "reasoning_complete 0",
        "content_complete 0",
    ]


@pytest.mark.parametrize("mode", ["transition", "phase"])
@pytest.mark.parametrize("ending", ["failed", "cancelled", "cut"])
def test_completes_are_told_however_the_stream_ends(mode: str, ending: str) -> None:
    turn = Turn(outputs="successive").output(0).reasoning("a")
    events = {
        "failed": turn.fail(),
        "cancelled": [*turn.events, ev.RunFinished(abort_reason("cancelled"))],
        "cut": turn.events,
    }[ending]
    assert names(told(events, mode)).count("reasoning_complete 0") == 1


def test_an_output_without_reasoning_or_text_completes_nothing() -> None:
    turn = Turn(outputs="successive").output(0).call("search", {}, executor="provider")
    assert names(told(turn.end_output(0, TOOL_USE).end())) == ["provider_call 0"]


def test_calls_citations_and_usage_are_told() -> None:
    turn = Turn().output(0).text("a").call("f", {"x": 1})
    citation = ev.CitationAdded(part=0, source="https://example.org")
    turn.events.append(citation)
    turn.end_output(0, TOOL_USE)
    notices = told(turn.end(usage=Usage(output_tokens=3)))
    values = {n.name: n.value for n in notices}
    assert values["client_call"].args == {"x": 1}
    assert values["citation"] is citation
    assert values["usage"] == Usage(output_tokens=3)
    assert notices[-1].name == "usage"


def test_steps_and_nested_runs_are_told_apart() -> None:
    first = records(Turn().output(0).reasoning("a").end_output(0, TOOL_USE).end(TOOL_USE))
    inner = records(Turn().output(0).reasoning("b").end_output().end(), path=("call-1",))
    second = records(Turn().output(0).reasoning("c").end_output().end(END_TURN), step=1)
    tracker = PhaseTracker()
    notices = [n for record in [*first, *inner, *second] for n in tracker.feed(record)]
    places = [(n.context.path, n.context.step) for n in notices if n.name == "reasoning_complete"]
    assert places == [((), 0), (("call-1",), 0), ((), 1)]


def test_a_nested_run_in_the_middle_disturbs_nothing() -> None:
    outer = records(Turn().output(0).reasoning("a", "b").end_output().end())
    inner = records(Turn().output(0).reasoning("x").end_output().end(), path=("c",))
    mixed = [*outer[:4], *inner, *outer[4:]]
    tracker = PhaseTracker()
    notices = [n for record in mixed for n in tracker.feed(record)]
    mine = [n.value for n in notices if n.name == "reasoning_delta" and not n.context.path]
    assert mine == ["a", "b"]


def test_the_counts_can_be_asked_for_while_it_runs() -> None:
    tracker = PhaseTracker()
    for record in records(Turn().output(0).reasoning("ab", "c").text("d").events):
        tracker.feed(record)
    stats, context = tracker.stats(0), tracker.context(0)
    assert stats is not None
    assert context is not None
    assert (stats.reasoning_deltas, stats.reasoning_chars, stats.content_chars) == (2, 3, 1)
    assert (context.reasoning, context.content) == ("complete", "pending")
    assert tracker.stats(7) is None
    assert tracker.context(0, ("x",)) is None


def test_a_discarded_step_begins_again() -> None:
    failed = Turn().output(0).reasoning("a").fail()
    again = Turn(first_part=5).output(0).reasoning("b").end_output().end()
    notices = told([*failed, ev.StepDiscarded(0, "overloaded"), *again])
    assert names(notices).count("reasoning_start 0") == 2
    assert names(notices).count("reasoning_complete 0") == 2


def test_deltas_of_nowhere_are_passed_over() -> None:
    tracker = PhaseTracker()
    assert tracker.feed(ev.Record(1, 0, ev.TextDelta(0, "a"))) == []
    assert tracker.feed(ev.Record(2, 0, ev.OutputStarted(0))) == []
    assert tracker.feed(ev.Record(3, 0, ev.UnknownEvent("new", b"{}"))) == []


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="transition and phase"):
        PhaseTracker("sometimes")  # type: ignore[arg-type]

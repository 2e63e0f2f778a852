"""Records in an order that a whole run does not have: both protocols take them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.outcome import END_TURN
from headrace.projections.thinking import ThinkingProjection
from headrace.projections.ux import UXProjection
from tests.phases.records import Turn, records

PROJECTIONS: dict[str, Any] = {"ux": lambda: UXProjection("e"), "thinking": ThinkingProjection}
each_protocol = pytest.mark.parametrize("name", PROJECTIONS)
ENDED = Turn().output(0).text("One.").end_output().end()


def in_run(*events: ev.Event) -> list[ev.Event]:
    return [
        ev.RunStarted("r"),
        ev.StepStarted(0),
        *events,
        ev.StepFinished(0),
        ev.RunFinished(END_TURN),
    ]


def project(name: str, events: list[ev.Event]) -> list[str]:
    """The types of all frames, by name."""
    projection = PROJECTIONS[name]()
    made = [frame for record in records(events) for frame in projection.feed(record)]
    return [type(frame).__name__ for frame in [*made, *projection.close()]]


@each_protocol
def test_a_result_of_an_unknown_call_is_no_frame(name: str) -> None:
    stray = ev.ToolResult(call_id="nobody", content=(TextContent("5"),))
    assert project(name, in_run(*ENDED, stray)) == project(name, in_run(*ENDED))


@each_protocol
def test_a_turn_after_a_finished_one_is_not_finished(name: str) -> None:
    cut = Turn(first_part=5).output(0).text("Two.").events  # no end
    whole = project(name, ENDED)
    again = project(name, [*ENDED, *cut])
    assert whole[-1] != again[-1] or whole[-2] != again[-2]


@each_protocol
def test_the_same_frames_come_for_a_run_and_for_its_turn(name: str) -> None:
    assert project(name, in_run(*ENDED))[-2:] == project(name, ENDED)[-2:]

"""Requests for input, messages added during a run, and sub-agents, in both protocols."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.content import TextContent
from headrace.events import Record
from headrace.messages import fold
from headrace.outcome import END_TURN, TOOL_USE
from headrace.projections.registry import PROTOCOLS
from headrace.projections.thinking import ThinkingProjection
from headrace.projections.ux import UXFrame, UXProjection, encode_frame, fold_frames, to_event
from headrace.projections.ux.segment import ToolSegment
from headrace.testing import run_virtual
from tests.engine.resume.scenes import SCENES, Player
from tests.phases.records import Turn
from tests.phases.ux_order import check_ux
from tests.unit.projections.test_order import walk

INPUT = ("input_requested", "input_answered", "message_waiting", "user_message_added")


def asking(request_id: str = "q1", call_id: str = "c1", **more: Any) -> ev.InputRequested:
    return ev.InputRequested(
        request_id=request_id, kind="approval", call_id=call_id, name="pay", **more
    )


def calling(first_part: int = 0) -> list[ev.Event]:
    turn = Turn(first_part=first_part).output(0).reasoning("Hm.").text("I pay.")
    return turn.call("pay", {"amount": 5}).end_output(0, TOOL_USE).end(TOOL_USE, "tool_calls")


ANSWERING = Turn(first_part=9).output(0).text("Paid.").end_output().end()
DENIED = ev.InputAnswered(request_id="q1", decision="denied", reason="too much", by="ada")
RESULT = ev.ToolResult(call_id="c1", content=(TextContent("ok"),))


def numbered(*events: ev.Event | tuple[tuple[str, ...], ev.Event]) -> list[Record]:
    """Records, each with the step that was started last; a nested one comes with its path."""
    made: list[Record] = []
    step = 0
    for seq, entry in enumerate(events, 1):
        path, event = entry if isinstance(entry, tuple) else ((), entry)
        step = event.step if isinstance(event, ev.StepStarted) and not path else step
        made.append(Record(seq, seq * 100, event, path, 0 if path else step))
    return made


def asked_and_denied() -> list[Record]:
    request = asking(args={"amount": 5}, message="May I?", expires_at_ms=9000)
    return numbered(
        ev.RunStarted("r1"),
        ev.StepStarted(0),
        *calling(),
        request,
        ev.RunSuspended("input", ("q1",)),
        ev.RunResumed(1),
        DENIED,
        RESULT,
        ev.StepFinished(0),
        ev.UserMessageAdded(content=(TextContent("Hurry"), TextContent("up")), said_at_ms=77),
        ev.StepStarted(1),
        *ANSWERING,
        ev.StepFinished(1),
        ev.RunFinished(END_TURN),
    )


def payloads(records: list[Record], protocol: str) -> list[dict[str, Any]]:
    package = PROTOCOLS[protocol].load()
    projection = package.create_projection("e")
    frames = [frame for record in records for frame in projection.feed(record)]
    sent = [package.encode_frame(frame) for frame in [*frames, *projection.close()]]
    return [msgspec.json.decode(data) for data in sent if data != b"[DONE]"]


def about_input(records: list[Record], protocol: str) -> list[dict[str, Any]]:
    """The frames about input, without the fields that only one protocol has."""
    own = {"event_id", "created_at", "segment_id", "sequence_number", "timestamp"}
    return [
        {name: value for name, value in payload.items() if name not in own}
        for payload in payloads(records, protocol)
        if payload["type"] in INPUT
    ]


def ux_frames(records: list[Record]) -> list[UXFrame]:
    projection = UXProjection("e")
    frames = [frame for record in records for frame in projection.feed(record)]
    return [*frames, *projection.close()]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requests_answers_and_added_messages_are_frames(protocol: str) -> None:
    assert about_input(asked_and_denied(), protocol) == [
        {
            "type": "input_requested", "request_id": "q1", "run_id": "r1", "kind": "approval",
            "call_id": "c1", "name": "pay", "args": {"amount": 5}, "message": "May I?",
            "expires_at": 9000,
        },
        {"type": "message_waiting", "run_id": "r1", "waiting": ["q1"]},
        {
            "type": "input_answered", "request_id": "q1", "decision": "denied",
            "reason": "too much", "by": "ada",
        },
        {"type": "user_message_added", "text": "Hurry\nup", "said_at": 77},
    ]  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_of_a_sub_agent_names_the_outermost_call(protocol: str) -> None:
    path = ("c1", "n1", "n2")
    events = [
        ev.RunStarted("r1"),
        ev.StepStarted(0),
        *calling(),
        ev.ToolStarted("c1"),
        *((path, event) for event in [ev.RunStarted("r2"), ev.StepStarted(0), *calling()]),
        (path, asking("q2")),
        (path, ev.RunSuspended("input", ("q2",))),
        ev.RunSuspended("input", ("q2",)),
        (path, ev.InputAnswered(request_id="q2", decision="accepted", is_always=True)),
    ]
    asked, waiting, answered = about_input(numbered(*events), protocol)
    assert (asked["run_id"], asked["parent_call_id"]) == ("r1", "c1")
    assert (asked["call_id"], asked["request_id"]) == ("c1", "q2")
    assert waiting["waiting"] == ["q2"]
    assert (answered["decision"], answered["is_always"]) == ("accepted", True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_that_is_handed_over_does_not_wait_for_input(protocol: str) -> None:
    events = [ev.RunStarted("r1"), ev.StepStarted(0), *calling(), ev.RunSuspended("drain")]
    assert about_input(numbered(*events), protocol) == []


def test_thinking_does_not_end_well_while_it_waits() -> None:
    """The turn has finished, but the message has not."""
    cut = next(
        number
        for number, record in enumerate(asked_and_denied())
        if isinstance(record.event, ev.RunSuspended)
    )
    for last in (cut, cut + 1, cut + 2):
        assert payloads(asked_and_denied()[:last], "thinking")[-1]["type"] == "error"


def test_a_stored_message_shows_requests_and_added_messages() -> None:
    records = asked_and_denied()
    event = to_event(fold(records), event_id="e")
    (request,) = event.requests
    assert (request.request_id, request.decision, request.reason) == ("q1", "denied", "too much")
    shown = [segment.__struct_config__.tag for segment in event.segments]
    assert shown == ["reasoning", "text", "tool_call", "user_message", "text"]
    assert check_ux(ux_frames(records)) == event


def test_a_step_that_was_cut_off_is_replaced_after_the_run_resumed() -> None:
    """Text, reasoning and calls of the cut step are gone, and stay gone."""
    place: dict[str, Any] = {"output": 0}
    cut: list[ev.Event] = [
        ev.StepStarted(1),
        ev.TurnStarted(dialect="chat"),
        ev.OutputStarted(0),
        ev.ReasoningStarted(part=3, item=3, **place),
        ev.ReasoningDelta(3, "Cut thought"),
        ev.ReasoningFinished(3),
        ev.TextStarted(part=4, item=4, **place),
        ev.TextDelta(4, "Cut text [STA"),
        ev.ToolCallStarted(part=5, item=5, call_id="c2", name="cut", **place),
        ev.ToolCallArgsDelta(5, '{"a"'),
        ev.RunResumed(1),
        ev.TextFinished(4),
        ev.ToolCallMalformed(part=5, call_id="c2", name="cut", raw='{"a"', error="cut off"),
        ev.OutputFinished(0),
        ev.TurnFailed(category="interrupted", message="cut off"),
        ev.StepDiscarded(1, "interrupted"),
        ev.StepStarted(1),
        *ANSWERING,
        ev.StepFinished(1),
        ev.RunFinished(END_TURN),
    ]
    first = [ev.RunStarted("r1"), ev.StepStarted(0), *calling(), RESULT, ev.StepFinished(0)]
    records = numbered(*first, *cut)
    frames = ux_frames(records)
    assert check_ux(frames) == to_event(fold(records), event_id="e")
    assert "Cut" in "".join(encode_frame(frame).decode() for frame in frames)
    folded = msgspec.json.encode(fold_frames(frames)).decode()
    assert "Cut" not in folded
    assert "c2" not in folded
    assert "Paid." in folded


def _play(name: str, *, suspends: bool) -> list[Record]:
    """Play a scene, with one process for each stretch if the run is suspended."""
    dialect = SCENES[name].choose_dialect("chat")
    records = run_virtual(Player(SCENES[name], dialect, suspends=suspends).start())
    while isinstance(records[-1].event, ev.RunSuspended):
        # Each process answers what the one before has asked.
        player = Player(SCENES[name], dialect, suspends=True)
        records = run_virtual(player.resume(records))
    return records


@pytest.mark.parametrize("suspends", [False, True])
@pytest.mark.parametrize("name", SCENES)
def test_a_played_run_folds_to_its_event_wherever_it_is_cut(name: str, suspends: bool) -> None:
    records = _play(name, suspends=suspends)
    for cut in range(1, len(records) + 1):
        event = check_ux(ux_frames(records[:cut]))
        assert event == to_event(fold(records[:cut]), event_id="e")
        projection = ThinkingProjection()
        frames = [frame for record in records[:cut] for frame in projection.feed(record)]
        walk([*frames, *projection.close()])


def test_requests_of_a_whole_run_come_from_the_frames_before_the_last() -> None:
    for name in SCENES:
        frames = ux_frames(_play(name, suspends=True))
        last: Any = frames[-1]
        assert fold_frames(frames[:-1]).requests == last.event.requests


def test_a_sub_agents_message_is_in_its_call() -> None:
    records = _play("sub-agents", suspends=True)
    frames = ux_frames(records)
    last: Any = frames[-1]
    calls = [one for one in last.event.segments if getattr(one, "event", None) is not None]
    assert [call.name for call in calls] == ["research", "research"]
    for call in calls:
        assert [one.text for one in call.event.segments if hasattr(one, "text")] == ["Found."]
        assert {one.parent_call_id for one in call.event.requests} == {None}
    assert {one.parent_call_id for one in last.event.requests} == {call.call_id for call in calls}
    ids = [one.id for call in calls for one in call.event.segments]
    assert len(ids) == len(set(ids))


def test_a_call_that_the_provider_may_run_is_not_shown_as_waiting() -> None:
    event = to_event(fold(_play("approvals of the provider", suspends=True)), event_id="e")
    statuses = {one.name: one.status for one in event.segments if isinstance(one, ToolSegment)}
    assert (statuses["delete_file"], statuses["read_file"]) == ("completed", "completed")
    assert statuses["move_file"] == "approval_requested", "the user has denied it"

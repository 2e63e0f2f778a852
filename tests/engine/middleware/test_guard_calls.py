"""Calls and reasoning that are rewritten: what is logged is what runs, and seals fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from headrace import events as ev
from headrace.events import Event
from headrace.messages import CallPart, ReasoningPart
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
    thought,
    without,
    written,
)

replace = msgspec.structs.replace


# --- calls ---------------------------------------------------------------------------------


def call_of(make: Callable[[ev.ToolCallFinished], Any]) -> CallPart:
    events = a_run([*a_turn(*called(0, "a")), *result("a")])
    (part,) = folded(written(events, on(ev.ToolCallFinished, make))).turns[0].parts
    assert isinstance(part, CallPart)
    return part


def test_the_end_of_a_call_has_the_name_and_the_id_of_its_start() -> None:
    part = call_of(lambda event: replace(event, name="rm", call_id="b"))
    assert (part.call_id, part.name, part.args) == ("a", "add", {"a": 1})


def test_arguments_that_run_are_those_that_are_replayed() -> None:
    part = call_of(lambda event: replace(event, args={"a": 2}))
    assert (part.args, part.raw) == ({"a": 2}, '{"a":2}')
    part = call_of(lambda event: replace(event, raw='{"a": 3}'))
    assert (part.args, part.raw) == ({"a": 3}, '{"a": 3}')
    part = call_of(lambda event: replace(event, args={"a": 4}, raw='{ "a" : 4 }'))
    assert (part.args, part.raw) == ({"a": 4}, '{ "a" : 4 }')
    part = call_of(lambda event: replace(event, args={"a": 5}, raw="no JSON"))
    assert (part.args, part.raw) == ({"a": 5}, '{"a":5}')
    part = call_of(lambda event: replace(event, args={"a": True}, raw='{"a": 1}'))
    assert (part.args, part.raw) == ({"a": True}, '{"a":true}')


@pytest.mark.parametrize("fields", [{"args": {"a": object()}}, {"raw": '{"a": '}])
def test_arguments_that_are_no_json_are_malformed(fields: dict[str, Any]) -> None:
    part = call_of(lambda event: replace(event, **fields))
    assert part.error is not None
    assert "rewritten arguments are not JSON" in part.error


def test_the_arguments_of_a_text_call_are_the_text() -> None:
    start, delta, end = called(0, "a", input="text")
    assert isinstance(end, ev.ToolCallFinished)
    events = a_run([*a_turn(start, delta, replace(end, args=end.raw)), *result("a")])
    told = written(events, on(ev.ToolCallFinished, lambda event: replace(event, args="ls")))
    (finished,) = only(told, ev.ToolCallFinished)
    assert (finished.args, finished.raw) == ("ls", "ls")


# --- seals ---------------------------------------------------------------------------------


def seals(events: list[Event], rewrite: Rewrite) -> list[str]:
    (part,) = folded(written(a_run(a_turn(*events)), rewrite)).turns[0].parts
    assert isinstance(part, ReasoningPart)
    return [seal.value for seal in part.seals]


def sealed() -> list[Event]:
    start, first, second, end = thought(0, "I ", "see", signature="S")
    seal, late = ev.PartSealed(0, "encrypted", "E"), ev.PartSealed(0, "encrypted", "L")
    return [start, first, seal, second, end, late]


def test_reasoning_that_is_told_otherwise_cut_keeps_its_seals() -> None:
    held: list[str] = []

    def hold(event: Any) -> Any:
        if isinstance(event, ev.ReasoningDelta):
            held.append(event.text)
            return None
        if isinstance(event, ev.ReasoningFinished):
            return [ev.ReasoningDelta(0, "".join(held)), event]
        return event

    assert seals(sealed(), lambda event: event) == ["E", "S", "L"]
    assert seals(sealed(), hold) == ["E", "S", "L"]
    assert seals(sealed(), on(ev.ReasoningDelta, msgspec.structs.replace)) == ["E", "S", "L"]


@pytest.mark.parametrize("rewrite", [
    on(ev.ReasoningDelta, lambda event: replace(event, text=event.text.upper())),
    on(ev.ReasoningDelta, lambda event: None if event.text == "see" else event),
    on(ev.ReasoningDelta, lambda event: [event, ev.ReasoningDelta(0, "!")]),
    on(ev.ReasoningFinished, lambda event: [ev.ReasoningDelta(0, "!"), event]),
    on(ev.ReasoningDelta, lambda event: [event, ev.ReasoningFinished(0)]),
    without(ev.ReasoningDelta),
])  # fmt: skip
def test_reasoning_that_is_changed_loses_all_its_seals(rewrite: Rewrite) -> None:
    assert seals(sealed(), rewrite) == []


def test_reasoning_that_lost_its_end_alone_keeps_its_other_seals() -> None:
    assert seals(sealed(), without(ev.ReasoningFinished)) == ["E", "L"]


def test_added_reasoning_is_not_sealed() -> None:
    more = [*thought(9, "Hm", signature="X"), ev.PartSealed(9, "encrypted", "Y")]
    told = written(TALK, on(ev.OutputFinished, lambda event: [*more, event]))
    assert [end.signature for end in only(told, ev.ReasoningFinished)] == ["S", None, None, None]
    assert only(told, ev.PartSealed) == []

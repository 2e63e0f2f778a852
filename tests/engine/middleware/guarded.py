"""Runs of a few events, made by hand, and what the guard lets through of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine.middleware.guard.guard import Guard
from headrace.events import Event, Record
from headrace.messages import Message, fold
from headrace.outcome import END_TURN
from tests.engine.play import check_order

Rewrite: TypeAlias = Callable[[Any], Any]


def text(part: int, *words: str, output: int = 0) -> list[Event]:
    start = ev.TextStarted(part=part, output=output, item=part)
    return [start, *(ev.TextDelta(part, word) for word in words), ev.TextFinished(part)]


def thought(part: int, *words: str, signature: str | None = None) -> list[Event]:
    deltas = [ev.ReasoningDelta(part, word) for word in words]
    start = ev.ReasoningStarted(part=part, output=0, item=part)
    return [start, *deltas, ev.ReasoningFinished(part, signature)]


def called(part: int, call_id: str, raw: str = '{"a":1}', **fields: Any) -> list[Event]:
    args = msgspec.json.decode(raw)
    return [
        ev.ToolCallStarted(part=part, output=0, item=part, call_id=call_id, name="add", **fields),
        ev.ToolCallArgsDelta(part, raw),
        ev.ToolCallFinished(part=part, call_id=call_id, name="add", args=args, raw=raw),
    ]


def result(call_id: str, words: str = "1") -> list[Event]:
    return [ev.ToolStarted(call_id), ev.ToolResult(call_id=call_id, content=(TextContent(words),))]


def a_turn(*said: Event, end: Event | None = None) -> list[Event]:
    begin: list[Event] = [ev.TurnStarted(dialect="chat"), ev.OutputStarted(0)]
    return [*begin, *said, ev.OutputFinished(0), end or ev.TurnFinished(reason=END_TURN)]


def a_run(*steps: list[Event]) -> list[Event]:
    """Each step is a turn and what comes after it."""
    events: list[Event] = [ev.RunStarted("r")]
    for number, step in enumerate(steps):
        events += [ev.StepStarted(number), *step, ev.StepFinished(number)]
    return [*events, ev.RunFinished(END_TURN)]


def listed(made: Any) -> list[Event]:
    return [] if made is None else made if isinstance(made, list) else [made]


def written(events: list[Event], rewrite: Rewrite) -> list[Event]:
    """The events that come out, which are checked to be a legal run."""
    guard = Guard()
    told: list[tuple[int, Event]] = []
    step = 0
    for event in events:
        if isinstance(event, ev.StepStarted):
            step = event.step
        told += [(step, one) for one in guard.feed(event, listed(rewrite(event)), event)]
    records = [Record(at, 0, event, (), step) for at, (step, event) in enumerate(told, start=1)]
    check_order(records, is_rewritten=True)
    fold(records)
    return [event for _, event in told]


def folded(events: list[Event]) -> Message:
    return fold([Record(at, 0, event) for at, event in enumerate(events, start=1)])


def only(events: list[Event], *kinds: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def without(*kinds: type[Any]) -> Rewrite:
    return lambda event: None if isinstance(event, kinds) else event


def on(kind: type[Any], make: Callable[[Any], Any]) -> Rewrite:
    return lambda event: make(event) if isinstance(event, kind) else event


TALK = a_run(
    [*a_turn(*thought(0, "Hm", "m.", signature="S"), *text(1, "One"), *called(2, "a"),
             *called(3, "b")), *result("a"), *result("b")],
    a_turn(*thought(4, "So."), *text(5, "Done", ".")),
)  # fmt: skip

"""The legal order of events as tables, and a checker for the events of a turn.

Each table maps a state to the events that may come next and the state after each of them. A
move that is not in the table is illegal. The middleware guard, the tests and the diagrams in the
documentation all read these tables. Decoding does not import this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast, get_args

from headrace import events as ev

Moves: TypeAlias = Mapping[str, Mapping[type, str]]
"""For each state: the types of the events that may come, and the state after each."""

TURN_GRAMMAR: Mapping[str, Moves] = {
    "turn": {
        "before": {ev.TurnStarted: "open"},
        "open": {
            ev.CitationAdded: "open",
            ev.FrameSkipped: "open",
            ev.TurnFinished: "over",
            ev.TurnFailed: "over",
        },
    },
    "output": {"before": {ev.OutputStarted: "open"}, "open": {ev.OutputFinished: "over"}},
    "reasoning": {
        "before": {ev.ReasoningStarted: "open"},
        "open": {
            ev.ReasoningDelta: "open",
            ev.PartRestored: "open",
            ev.CitationAdded: "open",
            ev.PartSealed: "open",
            ev.ReasoningFinished: "closed",
        },
        "closed": {ev.CitationAdded: "closed", ev.PartSealed: "closed"},
    },
    "text": {
        "before": {ev.TextStarted: "open"},
        "open": {
            ev.TextDelta: "open",
            ev.PartRestored: "open",
            ev.CitationAdded: "open",
            ev.PartSealed: "open",
            ev.TextFinished: "closed",
        },
        "closed": {ev.CitationAdded: "closed", ev.PartSealed: "closed"},
    },
    "call": {
        "before": {ev.ToolCallStarted: "open"},
        "open": {
            ev.ToolCallArgsDelta: "open",
            ev.PartRestored: "open",
            ev.ToolActivity: "open",
            ev.CitationAdded: "open",
            ev.PartSealed: "open",
            ev.ToolCallFinished: "closed",
            ev.ToolCallMalformed: "closed",
        },
        "closed": {ev.ToolActivity: "closed", ev.CitationAdded: "closed", ev.PartSealed: "closed"},
    },
    "whole part": {
        "before": {
            ev.ReasoningRedacted: "closed",
            ev.ToolOutput: "closed",
            ev.MediaProduced: "closed",
            ev.OpaqueItem: "closed",
        },
        "closed": {ev.CitationAdded: "closed", ev.PartSealed: "closed"},
    },
}
"""The moves of a turn, of each of its outputs, and of each kind of part.

Two rules join the tables: a part opens only in an open output, and an output or a turn ends only
when everything in it has ended. `can_be_open_together` has the rule for parts of one output.
"""

MODEL_OUTPUT_TYPES: frozenset[type] = frozenset(get_args(ev.TurnEvent)) - {
    ev.TurnStarted,
    ev.TurnFinished,
    ev.TurnFailed,
}
"""All turn events between the first and the last one. `TURN_GRAMMAR` has their order."""

UNINTERRUPTED_RUN_GRAMMAR: Moves = {
    "before": {ev.RunStarted: "begun"},
    "begun": {
        ev.HistoryCompacted: "begun",
        ev.StepStarted: "asking",
        ev.RunFinished: "over",
        ev.RunFailed: "over",
    },
    "asking": {ev.HistoryCompacted: "asking", ev.TurnStarted: "turn", ev.StepFinished: "step over"},
    "turn": {
        **dict.fromkeys(MODEL_OUTPUT_TYPES, "turn"),
        ev.TurnFinished: "calls",
        ev.TurnFailed: "failed",
    },
    "calls": {
        ev.InputRequested: "calls",
        ev.InputAnswered: "calls",
        ev.ToolStarted: "calls",
        ev.ToolProgress: "calls",
        ev.ToolResult: "calls",
        ev.StepFinished: "step over",
    },
    "failed": {ev.ToolResult: "failed", ev.StepDiscarded: "asking", ev.StepFinished: "step over"},
    "step over": {
        ev.HistoryCompacted: "step over",
        ev.UserMessageAdded: "step over",
        ev.StepStarted: "asking",
        ev.OutputProduced: "answered",
        ev.RunFinished: "over",
        ev.RunFailed: "over",
    },
    "answered": {ev.RunFinished: "over", ev.RunFailed: "over"},
}
"""The moves of a run that is neither cancelled, suspended nor resumed."""

_RESUMABLE_STATES = [state for state in UNINTERRUPTED_RUN_GRAMMAR if state != "before"]

RUN_GRAMMAR: Moves = {
    **UNINTERRUPTED_RUN_GRAMMAR,
    **{
        state: {
            **UNINTERRUPTED_RUN_GRAMMAR[state],
            ev.CancelRequested: state,
            ev.RunSuspended: f"{state}, suspended",
            # A run whose process was killed is resumed without having been suspended.
            ev.RunResumed: state,
        }
        for state in _RESUMABLE_STATES
    },
    **{
        f"{state}, suspended": {ev.RunResumed: state, ev.RunFailed: "over"}
        for state in _RESUMABLE_STATES
    },
}
"""The moves of a run. Every state in which a run can be suspended has a second one, in which it is
suspended. If the log of a run fails, the run is cut off in whatever state it is in, and the only
event that still comes is `RunFailed`."""

STARTED_BY: Mapping[type, str] = {
    event: name for name, moves in TURN_GRAMMAR.items() for event in moves["before"]
}
"""For each event that starts something: the name of its table in `TURN_GRAMMAR`."""

_PARTS = {name: moves for name, moves in TURN_GRAMMAR.items() if name not in ("turn", "output")}
PART_START_TYPES: tuple[type, ...] = tuple(e for m in _PARTS.values() for e in m["before"])
"""The events that start a part, including those that bring a whole part at once."""
WHOLE_PART_TYPES: tuple[type, ...] = tuple(_PARTS["whole part"]["before"])
"""The events that bring a whole part at once."""
DELTA_TYPE_OF: Mapping[type, type] = {
    start: event
    for moves in _PARTS.values()
    for start in moves["before"]
    for event in moves.get("open", ())
    if event in ev.DELTA_TYPES
}
"""For each event that opens a part: the one type of delta that the part takes."""
START_TYPE_OF: Mapping[type, type] = {
    event: start
    for moves in _PARTS.values()
    for start in moves["before"]
    for event, state in moves.get("open", {}).items()
    if state == "closed"
}
"""For each event that ends a part: the event that opened it."""


def can_be_open_together(start: Any, other: Any) -> bool:
    """Return whether two parts, given by the events that started them, may be open at once.

    In one output at most one text or reasoning part and at most one client call are open.
    """
    if start.output != other.output:
        return True
    is_call = isinstance(start, ev.ToolCallStarted)
    if is_call != isinstance(other, ev.ToolCallStarted):
        return True
    return is_call and "provider" in (start.executor, other.executor)


class GrammarChecker:
    """Checks that the events of one turn come in a legal order.

    `feed` takes one event and returns what is wrong with it, one sentence for each violation;
    `close` returns what is wrong with the end. Events that are no turn events are only checked for
    their place inside the turn. With `allows_rewritten_arguments`, the end of a call may hold other
    arguments than those that were streamed.
    """

    def __init__(self, *, allows_rewritten_arguments: bool = False) -> None:
        self._allows_rewritten_arguments = allows_rewritten_arguments
        self._states: dict[object, tuple[str, str]] = {}
        self._open: dict[int, Any] = {}
        self._arguments: dict[int, list[str]] = {}
        self._call_ids: set[str] = set()
        self._last_part: int | None = None

    def feed(self, event: Any) -> list[str]:
        """Take the next event and return its violations."""
        kind = cast("type[object]", type(event))
        _, turn_state = self._states.get("turn", ("turn", "before"))
        if turn_state != "open" and kind not in TURN_GRAMMAR["turn"].get(turn_state, ()):
            return [f"the turn is in the state {turn_state!r}: {event}"]
        if kind is not ev.TurnStarted and kind not in UNINTERRUPTED_RUN_GRAMMAR["turn"]:
            return []
        key = _find_key(event)
        table, state = self._states.get(key) or (STARTED_BY.get(kind), "before")
        if table is None:
            return [f"nothing was started that this belongs to: {event}"]
        next_state = TURN_GRAMMAR[table].get(state, {}).get(kind)
        if next_state is None:
            return [f"the {table} is in the state {state!r}: {event}"]
        violations = self._check_rules(event)
        self._states[key] = table, next_state
        return violations

    def close(self) -> list[str]:
        """Return the violations of a turn that ends here."""
        state = self._states.get("turn", ("turn", "before"))[1]
        return [] if state == "over" else ["the turn has no terminal event"]

    def _check_rules(self, event: Any) -> list[str]:
        """Check what a table of states cannot say."""
        kind = cast("type[object]", type(event))
        if kind in PART_START_TYPES:
            return self._check_part_start(event)
        if kind is ev.PartRestored:
            self._arguments[event.part] = [event.text]
        if kind in ev.DELTA_TYPES:
            if kind is ev.ToolCallArgsDelta:
                self._arguments[event.part].append(event.text)
            return [] if event.text else [f"a delta is empty: {event}"]
        if kind in START_TYPE_OF:
            return self._check_part_end(event, self._open.pop(event.part))
        if kind is ev.OutputFinished:
            left = [start for start in self._open.values() if start.output == event.output]
            return [f"the output ends while a part is open: {start}" for start in left]
        if kind in (ev.TurnFinished, ev.TurnFailed):
            return [
                f"the turn ends while {key} is open"
                for key, (_, state) in self._states.items()
                if state == "open" and key != "turn"
            ]
        return []

    def _check_part_start(self, event: Any) -> list[str]:
        violations: list[str] = []
        if self._states.get(("output", event.output), ("", ""))[1] != "open":
            violations.append(f"the output of this part is not open: {event}")
        if self._last_part is not None and event.part != self._last_part + 1:
            violations.append(f"part numbers have a gap after {self._last_part}: {event}")
        self._last_part = event.part
        if type(event) in WHOLE_PART_TYPES:
            return violations
        violations += [
            f"{event} starts while this part is open: {other}"
            for other in self._open.values()
            if not can_be_open_together(event, other)
        ]
        if isinstance(event, ev.ToolCallStarted):
            if not event.call_id or event.call_id in self._call_ids:
                violations.append(f"a call needs an id of its own: {event}")
            self._call_ids.add(event.call_id)
        self._open[event.part] = event
        self._arguments[event.part] = []
        return violations

    def _check_part_end(self, event: Any, start: Any) -> list[str]:
        arguments = "".join(self._arguments.pop(event.part))
        if not isinstance(event, ev.ToolCallFinished | ev.ToolCallMalformed):
            return []
        violations: list[str] = []
        if (start.call_id, start.name) != (event.call_id, event.name):
            violations.append(f"a call changed its id or name: {start}, {event}")
        if event.raw != arguments and not self._allows_rewritten_arguments:
            violations.append(f"the arguments are not those that were streamed: {event}")
        return violations


def _find_key(event: Any) -> object:
    """Return what the event belongs to: the turn, one of its outputs, or a part."""
    part = getattr(event, "part", None)
    if part is not None:
        return ("part", part)
    return ("output", event.output) if hasattr(event, "output") else "turn"

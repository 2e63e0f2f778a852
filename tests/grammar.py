"""The event grammar, written a second time and from the other side: it checks, event by
event, what the ledger promises (guarantees 2 and 3 of the design)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import events as ev

STARTS = (ev.TextStarted, ev.ReasoningStarted, ev.ToolCallStarted)
WHOLE = (ev.ReasoningRedacted, ev.ToolOutput, ev.MediaProduced, ev.OpaqueItem)
DELTAS = {
    ev.TextDelta: ev.TextStarted,
    ev.ReasoningDelta: ev.ReasoningStarted,
    ev.ToolCallArgsDelta: ev.ToolCallStarted,
}
ENDS: dict[Any, Any] = {
    ev.TextFinished: ev.TextStarted,
    ev.ReasoningFinished: ev.ReasoningStarted,
    ev.ToolCallFinished: ev.ToolCallStarted,
    ev.ToolCallMalformed: ev.ToolCallStarted,
}
TERMINALS = (ev.TurnFinished, ev.TurnFailed)


def check_grammar(
    events: Iterable[ev.TurnEvent], *, is_whole: bool = True, is_rewritten: bool = False
) -> None:
    """Assert that the events are legal; `is_whole` asks for the terminal event too, and
    `is_rewritten` allows arguments that are not what was streamed."""
    checker = _Checker()
    checker.is_rewritten = is_rewritten
    for event in events:
        checker.check(event)
    if is_whole:
        assert checker.is_over, "no terminal event"


class _Checker:
    def __init__(self) -> None:
        self.is_begun = False
        self.is_over = False
        self.is_rewritten = False
        self.outputs: dict[int, bool] = {}
        self.starts: dict[int, ev.TurnEvent] = {}
        self.open: dict[int, ev.TurnEvent] = {}
        self.written: dict[int, list[str]] = {}
        self.last_part: int | None = None
        self.call_ids: set[str] = set()

    def check(self, event: ev.TurnEvent) -> None:
        assert not self.is_over, f"after the end: {event}"
        assert self.is_begun != isinstance(event, ev.TurnStarted), f"start: {event}"
        self.is_begun = True
        kind = type(event)
        if isinstance(event, ev.OutputStarted):
            assert event.output not in self.outputs
            self.outputs[event.output] = True
        elif isinstance(event, ev.OutputFinished):
            assert self.outputs[event.output] is True
            assert not self._open_in(event.output), "an output ended with open parts"
            self.outputs[event.output] = False
        elif isinstance(event, STARTS):
            self._start(event)
        elif isinstance(event, WHOLE):
            self._number(event.part, event.output)
            self.starts[event.part] = event
        elif kind in DELTAS:
            self._delta(event)
        elif kind in ENDS:
            self._end(event)
        elif isinstance(event, ev.PartSealed | ev.ToolActivity):
            assert event.part in self.starts
        elif isinstance(event, ev.CitationAdded):
            assert event.part is None or event.part in self.starts
        elif isinstance(event, TERMINALS):
            assert not self.open, f"open at the end: {self.open}"
            assert not any(self.outputs.values()), "an output is open at the end"
            self.is_over = True

    def _number(self, part: int, output: int) -> None:
        assert self.outputs.get(output) is True, f"a part of output {output}, which is not open"
        assert self.last_part is None or part == self.last_part + 1, "part numbers have a gap"
        self.last_part = part

    def _start(self, event: ev.TextStarted | ev.ReasoningStarted | ev.ToolCallStarted) -> None:
        self._number(event.part, event.output)
        others = self._open_in(event.output)
        if isinstance(event, ev.ToolCallStarted):
            assert event.call_id, "a call without an id"
            assert event.call_id not in self.call_ids, "two calls with one id"
            self.call_ids.add(event.call_id)
            clashes = [o for o in others if _is_client_call(o) and _is_client_call(event)]
        else:
            clashes = [o for o in others if not isinstance(o, ev.ToolCallStarted)]
        assert not clashes, f"{event} while {clashes} is open"
        self.starts[event.part] = self.open[event.part] = event
        self.written[event.part] = []

    def _delta(self, event: ev.TurnEvent) -> None:
        assert isinstance(event, ev.TextDelta | ev.ReasoningDelta | ev.ToolCallArgsDelta)
        assert event.text, "an empty delta"
        assert isinstance(self.open.get(event.part), DELTAS[type(event)])
        self.written[event.part].append(event.text)

    def _end(self, event: Any) -> None:
        part: int = event.part
        start: Any = self.open.pop(part, None)
        assert isinstance(start, ENDS[type(event)]), f"{event} ends what is not open"
        if isinstance(event, ev.ToolCallFinished | ev.ToolCallMalformed):
            assert self.is_rewritten or event.raw == "".join(self.written[part])
            assert (start.call_id, start.name) == (event.call_id, event.name)

    def _open_in(self, output: int) -> list[ev.TurnEvent]:
        return [start for start in self.open.values() if start.output == output]  # type: ignore[union-attr]


def _is_client_call(event: ev.TurnEvent) -> bool:
    return isinstance(event, ev.ToolCallStarted) and event.executor == "client"

"""Joins surrogate pairs that a provider has split between two deltas."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace import events as ev
from headrace.events import TurnEvent
from headrace.wire.json.payload import (
    ends_with_high_surrogate,
    repair_surrogates,
    replace_surrogates,
)

_ENDS = (ev.TextFinished, ev.ReasoningFinished, ev.ToolCallFinished, ev.ToolCallMalformed)


class SurrogateJoiner:
    """Holds back the first half of a pair until its part continues or ends. Only streams that
    contained a half need it: see `Ledger.join_surrogates`."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[type[ev.DeltaEvent], str]] = {}

    def feed(self, events: Iterable[TurnEvent]) -> list[TurnEvent]:
        """Return the events with all pairs joined."""
        return [told for event in events for told in self._join_event(event)]

    def _join_event(self, event: TurnEvent) -> list[TurnEvent]:
        if isinstance(event, ev.DeltaEvent):
            return self._join_delta(event)
        if isinstance(event, ev.PartRestored):
            self._held.pop(event.part, None)
        if not isinstance(event, _ENDS) or event.part not in self._held:
            return [_repair_event(event)]
        delta, first = self._held.pop(event.part)
        return [delta(event.part, replace_surrogates(first)), _repair_event(event)]

    def _join_delta(self, event: ev.DeltaEvent) -> list[TurnEvent]:
        _, first = self._held.pop(event.part, (None, ""))
        text = first + event.text
        if ends_with_high_surrogate(text):
            self._held[event.part] = (type(event), text[-1])
            text = text[:-1]
        return [type(event)(event.part, replace_surrogates(text))] if text else []


def _repair_event(event: TurnEvent) -> TurnEvent:
    try:
        ev.encode_event(event)
    except UnicodeEncodeError:
        return msgspec.convert(repair_surrogates(msgspec.to_builtins(event)), type(event))
    return event

"""What middleware made of an event, made legal: nothing it does can break the grammar."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Event

# The bones of a run: they can be changed, but not left out, moved or added.
_BONES = (
    ev.RunStarted, ev.StepStarted, ev.StepFinished, ev.StepDiscarded, ev.TurnStarted,
    ev.OutputStarted, ev.OutputFinished, ev.TurnFinished, ev.TurnFailed, ev.RunFinished,
    ev.RunFailed, ev.ToolResult, ev.HistoryCompacted,
)  # fmt: skip
_STARTS = (ev.TextStarted, ev.ReasoningStarted, ev.ToolCallStarted)
_DELTAS = (ev.TextDelta, ev.ReasoningDelta, ev.ToolCallArgsDelta)
_ENDS = (ev.TextFinished, ev.ReasoningFinished, ev.ToolCallFinished, ev.ToolCallMalformed)
_WHOLE = (ev.ReasoningRedacted, ev.ToolOutput, ev.MediaProduced, ev.OpaqueItem)


class _Part:
    """A part as the model said it, and as it is told."""

    __slots__ = ("is_open", "is_reasoning", "original", "start", "told")

    def __init__(self, start: Any) -> None:
        self.start = start
        self.is_open = True
        self.is_reasoning = isinstance(start, ev.ReasoningStarted)
        self.original: list[str] = []
        self.told: list[str] = []

    @property
    def is_changed(self) -> bool:
        return "".join(self.original) != "".join(self.told)


class Guard:
    """Takes each event with what came of it; returns what may be written.

    A delta or an end without its start is left out; a part that lost its end is closed with
    its output; a bone that was left out is put back; a reasoning part whose text was changed
    loses its seals, since they would no longer fit.
    """

    def __init__(self) -> None:
        self._parts: dict[int, _Part] = {}
        self._texts: dict[int, list[str]] = {}

    def feed(self, original: Event, rewritten: list[Event]) -> list[Event]:
        """The legal form of what was made of one event."""
        if isinstance(original, ev.ReasoningDelta):
            self._texts.setdefault(original.part, []).append(original.text)
        if isinstance(original, _BONES):
            rewritten = self._with_bone(original, rewritten)
        elif rewritten:
            rewritten = [event for event in rewritten if not isinstance(event, _BONES)]
        return [legal for event in rewritten for legal in self._legal(event, original)]

    def _with_bone(self, original: Event, rewritten: list[Event]) -> list[Event]:
        same = [event for event in rewritten if type(event) is type(original)]
        others = [event for event in rewritten if not isinstance(event, _BONES)]
        bone = same[0] if same and _place(same[0]) == _place(original) else original
        return [*others, *self._closings(bone), bone]

    def _closings(self, bone: Event) -> list[Event]:
        """An output ends with all its parts, a turn with all of them."""
        if isinstance(bone, ev.OutputFinished):
            wanted = [part for part in self._parts.values() if part.start.output == bone.output]
        elif isinstance(bone, ev.TurnFinished | ev.TurnFailed):
            wanted = list(self._parts.values())
        else:
            return []
        return [_ending(part) for part in wanted if part.is_open]

    def _legal(self, event: Event, original: Event) -> list[Event]:
        if isinstance(event, _STARTS):
            return self._started(event)
        if isinstance(event, _DELTAS):
            return self._delta(event)
        if isinstance(event, _ENDS):
            return self._ended(event, original)
        if isinstance(event, ev.PartSealed):
            return self._sealed(event)
        if isinstance(event, _WHOLE):
            self._parts.setdefault(event.part, _Part(event)).is_open = False
        return [event]

    def _started(self, event: Any) -> list[Event]:
        if event.part in self._parts:
            return []
        self._parts[event.part] = _Part(event)
        return [event]

    def _delta(self, event: Any) -> list[Event]:
        part = self._parts.get(event.part)
        if part is None or not part.is_open or not event.text:
            return []
        if part.is_reasoning:
            part.told.append(event.text)
        return [event]

    def _ended(self, event: Any, original: Event) -> list[Event]:
        part = self._parts.get(event.part)
        if part is None or not part.is_open:
            return []
        part.is_open = False
        if isinstance(event, ev.ReasoningFinished) and event.signature and self._is_changed(part):
            return [msgspec.structs.replace(event, signature=None)]
        if isinstance(event, ev.ToolCallFinished) and event is not original:
            return [_rewritten_call(event, original)]
        return [event]

    def _sealed(self, event: ev.PartSealed) -> list[Event]:
        part = self._parts.get(event.part)
        if part is None or (part.is_reasoning and self._is_changed(part)):
            return []
        return [event]

    def _is_changed(self, part: _Part) -> bool:
        part.original = self._texts.get(part.start.part, [])
        return part.is_changed


def _place(event: Any) -> tuple[Any, ...]:
    """What of a bone says where it stands, and may not be changed."""
    return tuple(getattr(event, name, None) for name in ("output", "step", "call_id", "run_id"))


def _ending(part: _Part) -> Event:
    part.is_open = False
    start = part.start
    if isinstance(start, ev.TextStarted):
        return ev.TextFinished(start.part)
    if isinstance(start, ev.ReasoningStarted):
        return ev.ReasoningFinished(start.part)
    return ev.ToolCallMalformed(
        part=start.part, call_id=start.call_id, name=start.name, raw="", error="taken out"
    )


def _rewritten_call(event: ev.ToolCallFinished, original: Event) -> Event:
    """The raw arguments are those that are replayed: they must say what runs."""
    if isinstance(original, ev.ToolCallFinished) and event.args == original.args:
        return event
    if isinstance(original, ev.ToolCallFinished) and event.raw != original.raw:
        return event
    raw = event.args if isinstance(event.args, str) else msgspec.json.encode(event.args).decode()
    return msgspec.structs.replace(event, raw=raw)

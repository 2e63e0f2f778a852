"""What middleware made of an event, made legal: nothing it does can break the grammar."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from headrace import events as ev
from headrace.engine.middleware.told_turn import Handler, ToldTurn
from headrace.engine.middleware.withheld import withheld
from headrace.events import Event, decode_event, encode_event

# The bones of a run: they can be changed, but not left out, map_position or added. Nothing that
# comes of an opening bone stands before it, nothing that comes of a closing one after it.
_OPENING = frozenset({ev.RunStarted, ev.StepStarted, ev.TurnStarted, ev.OutputStarted})
_CLOSING = frozenset({
    ev.OutputFinished, ev.TurnFinished, ev.TurnFailed, ev.StepFinished, ev.RunFinished,
    ev.RunFailed,
})  # fmt: skip
_BONES = _OPENING | _CLOSING | {ev.StepDiscarded, ev.ToolResult, ev.HistoryCompacted}
# What of a bone says where it stands, and may not be changed.
_PLACE = ("output", "step", "call_id", "run_id")
# What msgspec raises for a value that is no JSON, or not what the event says it is.
_UNSOUND = (TypeError, ValueError, OverflowError, RecursionError)


class Guard:
    """Takes each event with what came of it; returns what may be written.

    Whatever rewriters do, what is written is a legal run: a delta or an end without its start
    is left out, a part that lost its end is closed, parts are numbered without a gap, a bone
    that was left out is put back, and reasoning whose text was changed loses its seals.
    """

    def __init__(self) -> None:
        self._turn = ToldTurn()
        self._is_in_step = False
        self._begun: set[str] = set()
        self._handlers: dict[type, Handler] = {
            **self._turn.handlers,
            ev.ToolStarted: self._tool_started,
            ev.ToolProgress: self._tool_progress,
        }

    def feed(
        self, original: Event, rewritten: list[Event], last: Event | None = None
    ) -> list[Event]:
        """The legal form of what was made of one event. `last` is the latest form of it that
        a rewriter gave back: it stands for a bone that was left out. None: the original."""
        kind = type(original)
        if kind in ev.DELTA_TYPES and len(rewritten) == 1 and rewritten[0] is original:
            told = self._turn.passed(cast("ev.DeltaEvent", original))
            if told is not None:
                return [told]
        self._turn.hear(original, rewritten)
        if kind in _BONES:
            return self._with_bone(original, rewritten, last)
        return self._told(rewritten, original)

    @staticmethod
    def withheld(original: Event) -> Event:
        """The form to put back where a rewriter failed and none had given one: `last`."""
        return withheld(original)

    # -- bones

    def _with_bone(
        self, original: Event, rewritten: list[Event], last: Event | None
    ) -> list[Event]:
        at, bone = _bone(original, rewritten, last)
        kind = type(original)
        if kind in _OPENING:
            at = 0
        elif kind in _CLOSING:
            at = len(rewritten)
        made = self._told(rewritten[:at], original)
        made += self._passed(bone)
        made.append(bone)
        return made + self._told(rewritten[at:], original)

    def _passed(self, bone: Event) -> list[Event]:
        """Where the run stands with this bone. Returns what must end before it."""
        turn = self._turn
        match bone:
            case ev.TurnStarted():
                self._begun = set()
                turn.begin()
            case ev.OutputStarted():
                turn.begin_output(bone.output)
            case ev.OutputFinished():
                return turn.end_output(bone.output)
            case ev.TurnFinished() | ev.TurnFailed():
                return turn.end()
            case ev.StepDiscarded():
                turn.forget_calls()
            case ev.StepStarted():
                self._is_in_step = True
                turn.forget_calls()
            case ev.StepFinished() | ev.RunFinished() | ev.RunFailed():
                self._is_in_step = False
            case _:
                pass
        return []

    # -- the rest

    def _told(self, events: list[Event], original: Event) -> list[Event]:
        made: list[Event] = []
        for event in events:
            handler = self._handlers.get(type(event))
            sound = event if event is original or handler is None else _sound(event)
            if handler is not None and sound is not None:
                made += handler(sound, original)
        return made

    def _tool_started(self, event: ev.ToolStarted, original: Event) -> list[Event]:
        """Tools begin when the engine says so, and once."""
        if not isinstance(original, ev.ToolStarted) or event.call_id != original.call_id:
            return []
        if event.call_id in self._begun:
            return []
        self._begun.add(event.call_id)
        return [event]

    def _tool_progress(self, event: ev.ToolProgress, original: Event) -> list[Event]:
        is_known = self._is_in_step and event.call_id in self._turn.calls
        return [event] if is_known and not self._turn.is_open else []


def _bone(original: Event, rewritten: list[Event], last: Event | None) -> tuple[int, Event]:
    """The bone as it is to be told, and where it stands in the list."""
    at = next((at for at, event in enumerate(rewritten) if event is original), None)
    if at is not None:
        return at, original
    for at, event in enumerate(rewritten):
        form = _form(event, original)
        if form is not None:
            return at, form
    if last is None or last is original:
        return len(rewritten), original
    return len(rewritten), _form(last, original) or withheld(original)


def _form(event: Event, original: Event) -> Event | None:
    """The event, if it is a form of the original."""
    if type(event) is not type(original) or _place(event) != _place(original):
        return None
    return _sound(event)


def _place(event: Event) -> tuple[Any, ...]:
    # Whether the run goes on although the model had ended. An empty nudge is nobody's.
    nudge = isinstance(event, ev.StepFinished) and event.nudge and True
    return (nudge, *(getattr(event, name, None) for name in _PLACE))


def _sound(event: Event) -> Event | None:
    """The event as a reader of the log gets it; None for one that cannot be logged."""
    try:
        if isinstance(event, ev.ToolCallFinished):
            # Arguments that are no JSON have an end of their own.
            bare = decode_event(encode_event(msgspec.structs.replace(event, args=None)))
            return msgspec.structs.replace(bare, args=event.args)  # type: ignore[return-value]
        return decode_event(encode_event(event))  # type: ignore[return-value]
    except _UNSOUND:
        return None

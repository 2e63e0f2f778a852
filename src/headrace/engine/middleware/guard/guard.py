"""`Guard`: makes the events that middleware returned legal again, by `events/grammar.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from headrace import events as ev
from headrace.content import TextContent
from headrace.engine.middleware.guard.turn import Handler, TurnGuard
from headrace.events import Event, decode_event, encode_event
from headrace.outcome import FinishReason

# Structural events can be changed, but not left out, moved or added. No event that a rewriter
# adds is written before an opening one or after a closing one.
_OPENING = frozenset({ev.RunStarted, ev.StepStarted, ev.TurnStarted, ev.OutputStarted})
_CLOSING = frozenset({
    ev.OutputFinished, ev.TurnFinished, ev.TurnFailed, ev.StepFinished, ev.RunFinished,
    ev.RunFailed,
})  # fmt: skip
_STRUCTURAL = _OPENING | _CLOSING | {
    ev.StepDiscarded, ev.ToolStarted, ev.ToolResult, ev.HistoryCompacted, ev.OutputProduced,
    ev.InputRequested, ev.InputAnswered, ev.UserMessageAdded, ev.CancelRequested, ev.RunSuspended,
    ev.RunResumed,
}  # fmt: skip
# The fields that identify a structural event; a rewriter cannot change them.
_IDENTITY = (
    "output", "step", "call_id", "run_id", "request_id", "decision", "is_always", "entry_id",
    "waiting", "epoch",
)  # fmt: skip
# What msgspec raises for a value that is not JSON, or has the wrong type for its field.
_INVALID = (TypeError, ValueError, OverflowError, RecursionError)

PLACEHOLDER = "[withheld: a rewriter failed]"
# What replaces the free text of a structural event, which may hold a secret.
_PLACEHOLDERS: Mapping[type, Mapping[str, Any]] = {
    ev.ToolResult: {"content": (TextContent(PLACEHOLDER),), "kind": None, "is_error": True},
    ev.ToolStarted: {"args": None},
    ev.TurnFailed: {"message": PLACEHOLDER, "code": None},
    ev.RunFailed: {"message": PLACEHOLDER},
    ev.StepDiscarded: {"reason": PLACEHOLDER},
    ev.OutputProduced: {"value": PLACEHOLDER},
    ev.InputRequested: {"message": PLACEHOLDER, "args": None},
    ev.InputAnswered: {"value": None, "reason": PLACEHOLDER},
    ev.UserMessageAdded: {"content": (TextContent(PLACEHOLDER),)},
    ev.CancelRequested: {"detail": PLACEHOLDER},
    ev.OutputFinished: {"raw_reason": None},
    ev.TurnFinished: {"raw_reason": None, "provider_data": {}},
}


class Guard:
    """Takes each event of a run with what rewriters made of it, and returns what is written.

    The result is always a legal run: a delta or an end without its start is dropped, a part that
    lost its end is closed, parts are numbered without gaps, a structural event that was left out
    is put back, and reasoning whose text was changed loses its seals.
    """

    def __init__(self) -> None:
        self._turn = TurnGuard()
        self._is_in_step = False
        self._handlers: dict[type, Handler] = {
            **self._turn.handlers,
            ev.ToolProgress: self._report_progress,
        }

    def feed(
        self, original: Event, rewritten: list[Event], latest: Event | None = None
    ) -> list[Event]:
        """Return the legal form of what was made of one event. `latest` is the latest form of it
        that a rewriter returned: it replaces a structural event that was left out. None stands
        for the original."""
        kind = type(original)
        if kind in ev.DELTA_TYPES and len(rewritten) == 1 and rewritten[0] is original:
            delta = self._turn.pass_delta(cast("ev.DeltaEvent", original))
            if delta is not None:
                return [delta]
        self._turn.observe(original, rewritten)
        if kind in _STRUCTURAL:
            return self._feed_structural(original, rewritten, latest)
        return self._handle(rewritten, original)

    def restore(self, event: Event) -> None:
        """Take an event that has been written by an earlier process."""
        self.feed(event, [event])

    def censor(self, event: Event) -> list[Event]:
        """Return what is written of an event that no rewriter will see: a placeholder if it is
        structural, and nothing otherwise."""
        return self.feed(event, [], self.placeholder(event))

    @staticmethod
    def placeholder(event: Event) -> Event:
        """Return the event without its free text. Use it as `latest` if a rewriter failed."""
        fields = dict(_PLACEHOLDERS.get(type(event), {}))
        if isinstance(event, ev.StepFinished) and event.nudge:
            fields["nudge"] = PLACEHOLDER
        reason = getattr(event, "reason", None)
        # The detail of an aborted run is the engine's text, not the model's.
        if isinstance(reason, FinishReason) and reason.word != "aborted" and reason.detail:
            fields["reason"] = msgspec.structs.replace(reason, detail="")
        return msgspec.structs.replace(event, **fields) if fields else event

    # -- structural events

    def _feed_structural(
        self, original: Event, rewritten: list[Event], latest: Event | None
    ) -> list[Event]:
        at, event = _find_structural(original, rewritten, latest)
        if type(original) in _OPENING:
            at = 0
        elif type(original) in _CLOSING:
            at = len(rewritten)
        events = self._handle(rewritten[:at], original)
        events += self._apply_structural(event)
        if isinstance(event, ev.TurnFinished) and self._turn.has_lost_text:
            event = msgspec.structs.replace(event, is_complete=False)
        events.append(event)
        return events + self._handle(rewritten[at:], original)

    def _apply_structural(self, event: Event) -> list[Event]:
        """Update the state of the run. Returns the ends of parts that must come before."""
        turn = self._turn
        match event:
            case ev.TurnStarted():
                turn.begin()
            case ev.OutputStarted():
                turn.outputs.add(event.output)
            case ev.OutputFinished():
                return turn.end_output(event.output)
            case ev.TurnFinished() | ev.TurnFailed():
                return turn.end()
            case ev.StepDiscarded():
                turn.calls = set()
            case ev.StepStarted():
                self._is_in_step = True
                turn.calls = set()
            case ev.StepFinished() | ev.RunFinished() | ev.RunFailed():
                self._is_in_step = False
            case _:
                pass
        return []

    # -- all other events

    def _handle(self, events: list[Event], original: Event) -> list[Event]:
        legal: list[Event] = []
        for event in events:
            handler = self._handlers.get(type(event))
            valid = event if event is original or handler is None else _validate(event)
            if handler is not None and valid is not None:
                legal += handler(valid, original)
        return legal

    def _report_progress(self, event: ev.ToolProgress, original: Event) -> list[Event]:
        is_known = self._is_in_step and event.call_id in self._turn.calls
        return [event] if is_known and not self._turn.is_open else []


def _find_structural(
    original: Event, rewritten: list[Event], latest: Event | None
) -> tuple[int, Event]:
    """Return the structural event as it is written, and its position in the list."""
    for at, event in enumerate(rewritten):
        if event is original:
            return at, original
    for at, event in enumerate(rewritten):
        form = _as_form_of(original, event)
        if form is not None:
            return at, form
    if latest is None or latest is original:
        return len(rewritten), original
    return len(rewritten), _as_form_of(original, latest) or Guard.placeholder(original)


def _as_form_of(original: Event, event: Event) -> Event | None:
    """Return the event if it is a valid form of the original, or None."""
    if type(event) is not type(original) or _identity(event) != _identity(original):
        return None
    return _validate(event)


def _identity(event: Event) -> tuple[Any, ...]:
    # A nudge continues the run: it can be changed, but not added, removed or emptied.
    nudge = isinstance(event, ev.StepFinished) and event.nudge and True
    return (nudge, *(getattr(event, name, None) for name in _IDENTITY))


def _validate(event: Event) -> Event | None:
    """Return the event as a reader of the log gets it, or None if it cannot be logged."""
    try:
        if isinstance(event, ev.ToolCallFinished):
            # Arguments that are not JSON make a malformed call later, so they pass here.
            bare = decode_event(encode_event(msgspec.structs.replace(event, args=None)))
            return msgspec.structs.replace(bare, args=event.args)  # type: ignore[return-value]
        return decode_event(encode_event(event))  # type: ignore[return-value]
    except _INVALID:
        return None

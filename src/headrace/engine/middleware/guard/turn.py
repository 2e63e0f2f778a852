"""`TurnGuard`: keeps the outputs, parts and calls of a turn legal and numbered without gaps.

Rewriters see parts with the model's numbers. They are written with numbers of their own, so that
a part that is left out leaves no gap and a part that is added takes no number of another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.engine.middleware.guard.part import GuardedPart
from headrace.events import Event, grammar

Handler: TypeAlias = Callable[[Any, Event], list[Event]]


class TurnGuard:
    """The state of the current turn. `observe` takes the model's events; the handlers take what
    rewriters made of them and return what is written. One object serves all turns of a run."""

    def __init__(self) -> None:
        self.handlers: dict[type, Handler] = {
            **dict.fromkeys(ev.DELTA_TYPES, self._add_delta),
            **dict.fromkeys(grammar.DELTA_TYPE_OF, self._start_part),
            **dict.fromkeys(grammar.START_TYPE_OF, self._end_part),
            **dict.fromkeys(grammar.WHOLE_PART_TYPES, self._add_whole_part),
            **dict.fromkeys((ev.PartSealed, ev.ToolActivity, ev.CitationAdded), self._attach),
            ev.PartRestored: self._restore_part,
            ev.FrameSkipped: self._report_skip,
        }
        self._next_part = 0
        self._next_item = 0
        self._run_calls: set[str] = set()
        self.begin()
        self.is_open = False

    def begin(self) -> None:
        """Start a new turn. Numbers continue those of the turn before."""
        self.is_open = True
        self.outputs: set[int] = set()
        """The numbers of the open outputs."""
        self.calls: set[str] = set()
        """The ids of the calls that were written."""
        self._model_parts: dict[int, GuardedPart] = {}
        self._added_parts: dict[int, GuardedPart] = {}
        self._open_parts: list[GuardedPart] = []
        self._items: dict[int, int] = {}
        self._model_calls: set[str] = set()
        self._expected_start: Any = None
        self.has_lost_text = False
        """Whether the complete text of a part was dropped, so that its gap remains."""

    def end_output(self, output: int) -> list[Event]:
        """End an output. Returns the ends of the parts that are still open."""
        self.outputs.discard(output)
        return self._close([part for part in self._open_parts if part.start.output == output])

    def end(self) -> list[Event]:
        """End the turn. Returns the ends of the parts that are still open."""
        self.is_open = False
        self.outputs = set()
        return self._close(self._open_parts)

    def _close(self, parts: list[GuardedPart]) -> list[Event]:
        ends = [event for part in parts for event in part.close_without_end()]
        self._open_parts = [part for part in self._open_parts if part.is_open]
        return ends

    # -- the model's events

    def pass_delta(self, delta: ev.DeltaEvent) -> Event | None:
        """Return an unchanged delta as it is written, or None if it needs a check."""
        part = self._model_parts.get(delta.part)
        kind = type(delta)
        if part is None or kind is not part.delta:
            return None
        if part.state != "open" or not part.is_unchanged_so_far:
            return None
        if kind is ev.ToolCallArgsDelta:
            part.args.append(delta.text)
        return delta if part.number == delta.part else kind(part.number, delta.text)

    def observe(self, original: Event, rewritten: list[Event]) -> None:
        """Note an event of the model, before its rewritten form is handled."""
        self._expected_start = None
        if type(original) in ev.DELTA_TYPES and rewritten != [original]:
            changed = self._model_parts.get(getattr(original, "part", -1))
            if changed is not None:
                changed.is_rewritten = True
        if isinstance(original, ev.PartRestored):
            if original.part in self._model_parts:
                self._model_parts[original.part].observe_restored(original.text)
        elif isinstance(original, ev.ReasoningDelta):
            if original.part in self._model_parts:
                self._model_parts[original.part].observe_text(original.text)
        elif isinstance(original, grammar.PART_START_TYPES):
            start: Any = original
            self._model_parts[start.part] = GuardedPart(type(original), start.item)
            if isinstance(start, ev.ToolCallStarted):
                self._model_calls.add(start.call_id)
            if any(event is start for event in rewritten):
                self._expected_start = start
        elif type(original) in grammar.START_TYPE_OF:
            part = self._model_parts.get(getattr(original, "part", -1))
            if part is not None:
                part.has_model_ended = True

    # -- parts

    def _start_part(self, event: Any, original: Event) -> list[Event]:
        part = self._find_new_part(event)
        if part is None or not self._is_new_call(event):
            return []
        blocking = [p for p in self._open_parts if not grammar.can_be_open_together(p.start, event)]
        same_number = self._find_open_part(event.part)
        if same_number is not None and same_number not in blocking:
            blocking.append(same_number)
        # An added part must not end one that the model is still producing.
        if part.model_kind is None and any(
            p.model_kind and not p.has_model_ended for p in blocking
        ):
            return []
        ends = self._close(blocking)
        start = self._number(event, part)
        part.write(start)
        self._open_parts.append(part)
        if isinstance(start, ev.ToolCallStarted):
            self.calls.add(start.call_id)
            self._run_calls.add(start.call_id)
        return [*ends, start]

    def _add_whole_part(self, event: Any, original: Event) -> list[Event]:
        model_part = self._model_parts.get(event.part)
        if model_part is not None and model_part.kind is type(event):
            return []
        if isinstance(event, ev.ToolOutput) and event.call_id in self._model_calls - self.calls:
            return []  # its call was left out
        part = self._find_new_part(event)
        if part is None:
            return []
        numbered = self._number(event, part)
        part.write(numbered)
        return [numbered]

    def _find_new_part(self, event: Any) -> GuardedPart | None:
        """Return the part that this event starts: the model's, or a new one that was added. None
        if the part is open already, or its output is not."""
        if event.output not in self.outputs:
            return None
        part = self._model_parts.get(event.part)
        if part is not None and part.kind is None:
            # If the model's own start follows in the same list, this one is an added part.
            expected = self._expected_start
            if expected is None or expected is event or expected.part != event.part:
                return part
        return None if self._find_open_part(event.part) is not None else GuardedPart(None)

    def _is_new_call(self, event: Any) -> bool:
        """Call ids are unique in a run, but the model may repeat one when a step is retried."""
        if not isinstance(event, ev.ToolCallStarted):
            return True
        call_id = event.call_id
        if not call_id or call_id in self.calls:
            return False
        return call_id not in self._run_calls or call_id in self._model_calls

    def _add_delta(self, event: ev.DeltaEvent, original: Event) -> list[Event]:
        part = self._find_open_part(event.part)
        if part is None or not part.accepts(event) or not event.text:
            return []
        part.write_text(event.text)
        return [part.renumber(event)]

    def _restore_part(self, event: ev.PartRestored, original: Event) -> list[Event]:
        """Handle the complete text of a part. It would undo what a rewriter did to the deltas, so
        it is dropped unless the rewriter has rewritten it too."""
        part = self._find_open_part(event.part)
        if part is None or not part.accepts(event):
            return []
        if part.is_rewritten and event is original:
            # The end of a call repeats its arguments; a text has only its deltas.
            self.has_lost_text = self.has_lost_text or part.kind is not ev.ToolCallStarted
            return []
        part.write_restored(event.text)
        return [part.renumber(event)]

    def _report_skip(self, event: ev.FrameSkipped, original: Event) -> list[Event]:
        """Only the decoder can skip a frame."""
        return [event] if self.is_open and isinstance(original, ev.FrameSkipped) else []

    def _end_part(self, event: Any, original: Event) -> list[Event]:
        part = self._find_open_part(event.part)
        if part is None or not part.accepts(event):
            return []
        self._open_parts.remove(part)
        return part.close_with(event, original)

    def _attach(self, event: Any, original: Event) -> list[Event]:
        """Handle a seal, an activity or a citation. They are dropped with their part: a citation
        would quote a text that was left out."""
        if event.part is None:
            return [event] if self.is_open else []
        part = self._find_written_part(event.part)
        if part is None or not part.accepts(event):
            return []
        event = part.renumber(event)
        if isinstance(event, ev.ToolActivity):
            return [msgspec.structs.replace(event, call_id=part.start.call_id)]
        if not isinstance(event, ev.PartSealed):
            return [event]
        if part.is_open and part.is_reasoning:
            # Whether the text was changed is known only at its end.
            if event not in part.seals:
                part.seals.append(event)
            return []
        return [event] if part.keeps_seals else []

    # -- numbers

    def _find_open_part(self, number: int) -> GuardedPart | None:
        """Return the open part with this number. Of the model's part and an added one with the
        same number, at most one is open."""
        for parts in (self._model_parts, self._added_parts):
            part = parts.get(number)
            if part is not None and part.is_open:
                return part
        return None

    def _find_written_part(self, number: int) -> GuardedPart | None:
        if not self.is_open:
            return None
        part = self._find_open_part(number) or self._model_parts.get(number)
        return self._added_parts.get(number) if part is None or part.kind is None else part

    def _number(self, event: Any, part: GuardedPart) -> Any:
        """Return a start event with the numbers that it is written with."""
        number, self._next_part = self._next_part, self._next_part + 1
        if part.model_kind is None:
            self._added_parts[event.part] = part
            # An added part must not be sent back as part of an item of the provider.
            item = self._take_item()
            return msgspec.structs.replace(event, part=number, item=item, item_id=None)
        if part.item not in self._items:
            self._items[part.item] = self._take_item()
        item = self._items[part.item]
        if (number, item) == (event.part, event.item):
            return event
        return msgspec.structs.replace(event, part=number, item=item)

    def _take_item(self) -> int:
        number, self._next_item = self._next_item, self._next_item + 1
        return number

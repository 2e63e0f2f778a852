"""The turn as it is told: its outputs, parts and calls, numbered without a gap.

Parts are known by the numbers that rewriters see, which are the model's, and written with
numbers of their own: what is left out leaves no gap, what is added takes nobody's number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.engine.middleware.told_call import told_call
from headrace.engine.middleware.told_part import (
    END_TYPES,
    START_OF,
    START_TYPES,
    STARTS,
    WHOLE,
    ToldPart,
)
from headrace.events import Event

Handler: TypeAlias = Callable[[Any, Event], list[Event]]


class ToldTurn:
    """Takes what the model says with `hear`, and what is to be told with the handlers; they
    return what may be written of it. One object serves a run: a turn begins with `begin`."""

    def __init__(self) -> None:
        self.handlers: dict[type, Handler] = {
            **dict.fromkeys(ev.DELTA_TYPES, self._delta),
            **dict.fromkeys(STARTS, self._started),
            **dict.fromkeys(START_OF, self._ended),
            **dict.fromkeys(WHOLE, self._whole),
            ev.PartSealed: self._sealed,
            ev.ToolActivity: self._activity,
            ev.CitationAdded: self._citation,
        }
        self._next_part = 0
        self._last_item = -1
        self._item_shift = 0
        self._run_calls: set[str] = set()
        self.begin()
        self.is_open = False

    # -- the turn and its outputs

    def begin(self) -> None:
        """A new turn: what the last one was is forgotten, but for the numbers."""
        self.is_open = True
        self._outputs: dict[int, bool] = {}
        self._model: dict[int, ToldPart] = {}
        self._added: dict[int, ToldPart] = {}
        self._open: list[ToldPart] = []
        self._items: dict[int, int] = {}
        self._used_items: set[int] = set()
        self._said_calls: set[str] = set()
        self.calls: set[str] = set()
        """The ids of the calls that are told."""
        self._awaited: Any = None

    def begin_output(self, output: int) -> None:
        self._outputs[output] = True

    def end_output(self, output: int) -> list[Event]:
        """An output ends with all its parts."""
        self._outputs[output] = False
        return self._closed([part for part in self._open if part.start.output == output])

    def end(self) -> list[Event]:
        """A turn ends with everything in it."""
        self.is_open = False
        self._outputs = {}
        return self._closed(self._open)

    def forget_calls(self) -> None:
        """The step is over, or taken back: its calls are not known any more."""
        self.calls = set()

    def _closed(self, parts: list[ToldPart]) -> list[Event]:
        ends = [event for part in parts for event in part.end()]
        self._open = [part for part in self._open if part.is_open]
        return ends

    # -- what the model says

    def passed(self, delta: ev.DeltaEvent) -> Event | None:
        """The short way for a delta that nobody changed; None where it needs a look."""
        part = self._model.get(delta.part)
        kind = type(delta)
        if part is None or not part.is_open or not part.is_even or kind is not part.delta:
            return None
        if part.kind is ev.ToolCallStarted:
            part.args.append(delta.text)
        return delta if part.number == delta.part else kind(part.number, delta.text)

    def hear(self, original: Event, rewritten: list[Event]) -> None:
        """The model's side of what is told next."""
        self._awaited = None
        if isinstance(original, (ev.TextDelta, ev.ToolCallArgsDelta)):
            return
        if isinstance(original, ev.ReasoningDelta):
            if original.part in self._model:
                self._model[original.part].hear(original.text)
        elif isinstance(original, START_TYPES):
            self._model[original.part] = ToldPart(type(original), original.item)
            if isinstance(original, ev.ToolCallStarted):
                self._said_calls.add(original.call_id)
            if any(event is original for event in rewritten):
                self._awaited = original
        elif isinstance(original, END_TYPES) and original.part in self._model:
            self._model[original.part].is_said = True

    # -- parts

    def _started(self, event: Any, original: Event) -> list[Event]:
        part = self._new_part(event)
        if part is None or not self._is_new_call(event):
            return []
        room = self._room(event, part)
        if room is None:
            return []
        made = self._closed(room)
        start = self._numbered(event, part)
        part.open(start)
        self._open.append(part)
        if isinstance(start, ev.ToolCallStarted):
            self.calls.add(start.call_id)
            self._run_calls.add(start.call_id)
        return [*made, start]

    def _whole(self, event: Any, original: Event) -> list[Event]:
        twin = self._model.get(event.part)
        if twin is not None and twin.kind is type(event):
            return []
        if isinstance(event, ev.ToolOutput) and self._is_taken_out(event.call_id):
            return []
        part = self._new_part(event)
        if part is None:
            return []
        told = self._numbered(event, part)
        part.whole(told)
        return [told]

    def _new_part(self, event: Any) -> ToldPart | None:
        """The part that this event starts: the model's own, or one that is added. None for
        a second start of an open part, and where no such output is open."""
        if not self._outputs.get(event.output):
            return None
        part = self._model.get(event.part)
        if part is not None and part.kind is None and not self._is_forestalled(event):
            return part
        return None if self._open_part(event.part) is not None else ToldPart(None)

    def _is_forestalled(self, event: Any) -> bool:
        """Whether the model's own start of this number is still to come, in the same list."""
        awaited = self._awaited
        return awaited is not None and awaited is not event and awaited.part == event.part

    def _is_new_call(self, event: Any) -> bool:
        """Ids are new in the run; the model may repeat itself where a step is tried again."""
        if not isinstance(event, ev.ToolCallStarted):
            return True
        call_id = event.call_id
        if not call_id or call_id in self.calls:
            return False
        return call_id not in self._run_calls or call_id in self._said_calls

    def _is_taken_out(self, call_id: str) -> bool:
        return call_id in self._said_calls and call_id not in self.calls

    def _room(self, event: Any, part: ToldPart) -> list[ToldPart] | None:
        """The parts that must end before this one starts. None: it must not start, since the
        model is still telling one of them."""
        clashes = [one for one in self._open if _clash(one.start, event)]
        stray = self._open_part(event.part)
        if stray is not None and stray not in clashes:
            clashes.append(stray)
        is_added = part.said is None
        if is_added and any(one.said is not None and not one.is_said for one in clashes):
            return None
        return clashes

    def _delta(self, event: ev.DeltaEvent, original: Event) -> list[Event]:
        part = self._open_part(event.part)
        if part is None or type(event) is not part.delta or not event.text:
            return []
        part.tell(event.text)
        return [part.numbered(event)]

    def _ended(self, event: Any, original: Event) -> list[Event]:
        part = self._open_part(event.part)
        if part is None or part.kind is not START_OF[type(event)]:
            return []
        self._open.remove(part)
        seals = part.close()
        if part.kind is ev.ToolCallStarted:
            return [*seals, told_call(event, part.start, part.number, original)]
        if isinstance(event, ev.ReasoningFinished) and event.signature and not part.keeps_seals:
            return [ev.ReasoningFinished(part.number)]
        return [*seals, part.numbered(event)]

    # -- what belongs to a part

    def _sealed(self, event: ev.PartSealed, original: Event) -> list[Event]:
        part = self._told_part(event.part)
        if part is None:
            return []
        sealed: ev.PartSealed = part.numbered(event)
        if part.is_open and part.is_reasoning:
            # Whether its text is changed shows at its end.
            if sealed not in part.seals:
                part.seals.append(sealed)
            return []
        return [sealed] if part.keeps_seals else []

    def _activity(self, event: ev.ToolActivity, original: Event) -> list[Event]:
        part = self._told_part(event.part)
        if part is None or part.kind is not ev.ToolCallStarted:
            return []
        told: ev.ToolActivity = part.numbered(event)
        call_id: str = part.start.call_id
        if told.call_id != call_id:
            told = msgspec.structs.replace(told, call_id=call_id)
        return [told]

    def _citation(self, event: ev.CitationAdded, original: Event) -> list[Event]:
        if event.part is None:
            return [event] if self.is_open else []
        part = self._told_part(event.part)
        # One of a text that was taken out would quote it.
        return [] if part is None else [part.numbered(event)]

    # -- numbers

    def _open_part(self, number: int) -> ToldPart | None:
        """The part that text with this number goes to: of the model's and the added one of
        the same number at most one is open."""
        for parts in (self._model, self._added):
            part = parts.get(number)
            if part is not None and part.is_open:
                return part
        return None

    def _told_part(self, number: int) -> ToldPart | None:
        if not self.is_open:
            return None
        part = self._open_part(number) or self._model.get(number)
        if part is None or part.kind is None:
            part = self._added.get(number)
        return None if part is None or part.kind is None else part

    def _numbered(self, event: Any, part: ToldPart) -> Any:
        number, self._next_part = self._next_part, self._next_part + 1
        if part.said is None:
            self._added[event.part] = part
            # It is no part of an item of the provider's, and would be sent back as one.
            item = self._new_item()
            return msgspec.structs.replace(event, part=number, item=item, item_id=None)
        item = self._item(part.item)
        if (number, item) == (event.part, event.item):
            return event
        return msgspec.structs.replace(event, part=number, item=item)

    def _item(self, said: int) -> int:
        """The model's numbers, map_position by the items that were added before."""
        item = self._items.get(said)
        if item is None:
            item = said + self._item_shift
            if item in self._used_items:
                item = self._new_item()
            self._items[said] = item
            self._used_items.add(item)
            self._last_item = max(self._last_item, item)
        return item

    def _new_item(self) -> int:
        self._item_shift += 1
        self._last_item += 1
        self._used_items.add(self._last_item)
        return self._last_item


def _clash(one: Any, other: Any) -> bool:
    """Whether both cannot be open: two texts, or two calls of ours, in one output."""
    if one.output != other.output:
        return False
    if isinstance(one, ev.ToolCallStarted) != isinstance(other, ev.ToolCallStarted):
        return False
    executors = (getattr(one, "executor", "client"), getattr(other, "executor", "client"))
    return executors == ("client", "client")

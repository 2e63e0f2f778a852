"""Values that grow with the records of a turn or run: the typed answer, and arguments of calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace import events as ev
from headrace.events import Record
from headrace.typed.partial_json import NOTHING, PartialJSON
from headrace.typed.plan import ANSWER_TOOL, OutputPlan


class GrowingOutput:
    """The typed answer as far as it has arrived."""

    def __init__(self, find_plan: Callable[[str | None], OutputPlan]) -> None:
        # Each model of a fallback may be asked in another way; the argument is its provider.
        self._find_plan = find_plan
        self._plan = find_plan(None)
        self._json = self._new_json()
        # The part whose deltas are the answer.
        self._parts: set[int] = set()

    def feed(self, record: Record) -> Any:
        """Take a record. Returns the value if the record has made it grow, `NOTHING` otherwise."""
        event = record.event
        match event:
            case ev.TextDelta() | ev.ToolCallArgsDelta() if event.part in self._parts:
                return self._feed_text(event.text)
            case ev.TurnStarted() | ev.StepDiscarded():
                if isinstance(event, ev.TurnStarted):
                    self._plan = self._find_plan(event.provider)
                self._json = self._new_json()
                self._parts.clear()
            case ev.TextStarted() if self._plan.mode != "tool" and not event.is_refusal:
                self._parts.add(event.part)
            case ev.ToolCallStarted() if self._is_answer(event):
                self._parts.add(event.part)
            case ev.PartRestored() if event.part in self._parts:
                self._json = self._new_json()
                return self._feed_text(event.text)
            case _:
                pass
        return NOTHING

    def _is_answer(self, start: ev.ToolCallStarted) -> bool:
        return self._plan.mode == "tool" and start.name == ANSWER_TOOL and not self._parts

    def _feed_text(self, text: str) -> Any:
        changes = self._json.changes
        value = self._json.feed(text)
        if self._json.changes == changes:
            return NOTHING
        if not self._plan.type.is_wrapped or not isinstance(value, dict):
            return value
        return self._plan.type.unwrap(value) if value else NOTHING

    def _new_json(self) -> PartialJSON:
        return PartialJSON(skips_prose=self._plan.mode == "prompt")


@dataclass
class PartialCall:
    """A call of a client tool whose arguments are still being written."""

    call_id: str
    name: str
    arguments: Any = None
    """The arguments so far. Lists and dicts are changed in place."""
    _json: PartialJSON = field(default_factory=PartialJSON, repr=False)

    def feed(self, text: str) -> None:
        """Take more of the arguments."""
        value = self._json.feed(text)
        self.arguments = None if value is NOTHING else value


class GrowingCalls:
    """The calls of a turn or run, with their arguments as far as they have arrived."""

    def __init__(self) -> None:
        self._calls: dict[int, PartialCall] = {}

    def feed(self, record: Record) -> Any:
        """Take a record. Returns the call that has grown, or `NOTHING`."""
        match record.event:
            case ev.ToolCallArgsDelta(part=part, text=text) if part in self._calls:
                call = self._calls[part]
                call.feed(text)
                return call
            case ev.ToolCallStarted(executor="client", part=part, call_id=call_id, name=name):
                self._calls[part] = PartialCall(call_id, name)
                return self._calls[part]
            case ev.PartRestored(part=part, text=text) if part in self._calls:
                before = self._calls[part]
                call = self._calls[part] = PartialCall(before.call_id, before.name)
                call.feed(text)
                return call
            case _:
                return NOTHING

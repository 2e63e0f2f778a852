"""A part as the model says it and as it is told: whether they are the same, and its end."""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import msgspec

from headrace import events as ev
from headrace.engine.middleware.told_call import CALL_TAKEN_OUT
from headrace.events import Event

Start: TypeAlias = ev.TextStarted | ev.ReasoningStarted | ev.ToolCallStarted
Whole: TypeAlias = ev.ReasoningRedacted | ev.ToolOutput | ev.MediaProduced | ev.OpaqueItem
STARTS = (ev.TextStarted, ev.ReasoningStarted, ev.ToolCallStarted)
WHOLE = (ev.ReasoningRedacted, ev.ToolOutput, ev.MediaProduced, ev.OpaqueItem)
START_TYPES = (*STARTS, *WHOLE)
END_TYPES = (ev.TextFinished, ev.ReasoningFinished, ev.ToolCallFinished, ev.ToolCallMalformed)
# The one kind of delta that a part of each kind takes, and the start that each end belongs to.
DELTA_OF: dict[type, type] = {
    ev.TextStarted: ev.TextDelta,
    ev.ReasoningStarted: ev.ReasoningDelta,
    ev.ToolCallStarted: ev.ToolCallArgsDelta,
}
START_OF: dict[type, type] = {
    ev.TextFinished: ev.TextStarted,
    ev.ReasoningFinished: ev.ReasoningStarted,
    ev.ToolCallFinished: ev.ToolCallStarted,
    ev.ToolCallMalformed: ev.ToolCallStarted,
}


class ToldPart:
    """One part. Of its text nothing is kept but the arguments of an open call, which say
    what the call was if its end is taken out."""

    __slots__ = (
        "_heard", "_told", "args", "delta", "is_changed", "is_even", "is_open", "is_said", "item",
        "kind", "number", "said", "seals", "start",
    )  # fmt: skip

    def __init__(self, said: type | None, item: int = -1) -> None:
        self.said = said
        """The kind that the model made; None for a part that a rewriter added."""
        self.item = item
        """The model's number of its item."""
        self.is_said = False
        """Whether the model has said its end."""
        self.kind: type | None = None
        """The kind that is told; None before its start is."""
        self.start: Any = None
        self.number = -1
        self.delta: type | None = None
        self.is_open = False
        self.args: list[str] = []
        self.seals: list[ev.PartSealed] = []
        self.is_even = True
        """Whether each delta so far was told as it came: then there is nothing to compare."""
        self.is_changed = False
        self._heard: Any = None
        self._told: Any = None

    def open(self, start: Start) -> None:
        """It starts so, with the number that it is told by."""
        self.kind, self.delta = type(start), DELTA_OF[type(start)]
        self.start, self.number = start, start.part
        self.is_open = True

    def whole(self, told: Whole) -> None:
        """It comes whole; what it holds may be large, and is not kept."""
        self.kind, self.number = type(told), told.part

    # -- the text of reasoning, which its seals belong to

    def hear(self, text: str) -> None:
        """The model said this; whether it is told shows later."""
        if self.kind is not None and not self.is_open:
            return
        self._uneven()
        self._heard.update(text.encode("utf-8", "surrogatepass"))

    def tell(self, text: str) -> None:
        if self.kind is ev.ToolCallStarted:
            self.args.append(text)
        elif self.kind is ev.ReasoningStarted:
            self._uneven()
            self._told.update(text.encode("utf-8", "surrogatepass"))

    def _uneven(self) -> None:
        if self.is_even:
            self.is_even = False
            self._heard, self._told = hashlib.blake2b(), hashlib.blake2b()

    @property
    def is_reasoning(self) -> bool:
        return ev.ReasoningStarted in (self.said, self.kind)

    @property
    def keeps_seals(self) -> bool:
        """Reasoning that was changed has lost them, since they no longer fit."""
        return not self.is_reasoning or (self.said is self.kind and not self.is_changed)

    # -- its end

    def close(self) -> list[Event]:
        """No more text. Returns the seals that had to wait for it."""
        self.is_open = False
        is_early = self.said is not None and not self.is_said
        if is_early or (not self.is_even and self._heard.digest() != self._told.digest()):
            self.is_changed = True
        self._heard = self._told = None
        seals, self.seals = self.seals, []
        self.args = []
        return [*seals] if self.keeps_seals else []

    def end(self) -> list[Event]:
        """Close a part that has lost its end."""
        raw = "".join(self.args)
        seals = self.close()
        if self.kind is ev.TextStarted:
            return [*seals, ev.TextFinished(self.number)]
        if self.kind is ev.ReasoningStarted:
            return [*seals, ev.ReasoningFinished(self.number)]
        call_id, name = self.start.call_id, self.start.name
        malformed = ev.ToolCallMalformed(
            part=self.number, call_id=call_id, name=name, raw=raw, error=CALL_TAKEN_OUT
        )
        return [*seals, malformed]

    def numbered(self, event: Any) -> Any:
        """The event with the number that the part is told by."""
        if event.part == self.number:
            return event
        return msgspec.structs.replace(event, part=self.number)

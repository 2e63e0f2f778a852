"""`GuardedPart`: one part of a turn as the model produced it and as it is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace import events as ev
from headrace.events import Event
from headrace.events.grammar import DELTA_TYPE_OF, STARTED_BY, TURN_GRAMMAR
from headrace.wire.call_arguments import parse_arguments
from headrace.wire.limits import DEFAULT_WIRE_LIMITS

END_LEFT_OUT = "middleware left out the end of the call"
# What msgspec raises for a value that is not JSON; `MalformedArguments` is a ValueError.
_NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError)


@dataclass(slots=True, eq=False)
class GuardedPart:
    """The state of one part. Its text is not kept, except for the arguments of an open call:
    they are needed if the end of the call is left out."""

    model_kind: type | None
    """The type of the model's start event, or None if a rewriter added the part."""
    item: int = -1
    """The number of the item, as the model counts."""
    has_model_ended: bool = False
    state: str = "before"
    """The state in the table of `TURN_GRAMMAR`."""
    kind: type | None = None
    """The type of the start event that was written, or None before that."""
    start: Any = None
    number: int = -1
    delta: type | None = None
    args: list[str] = field(default_factory=list[str])
    seals: list[ev.PartSealed] = field(default_factory=list[ev.PartSealed])
    is_unchanged_so_far: bool = True
    """Whether every delta was written as it came, so that no text has to be compared."""
    is_rewritten: bool = False
    """Whether a rewriter has changed, added or left out a delta."""
    is_changed: bool = False
    _model_hash: Any = None
    _written_hash: Any = None

    def write(self, event: Any) -> None:
        """Note the start event that is written, or the event that brings the whole part. A whole
        part may be large, so it is not kept."""
        self.kind, self.number = type(event), event.part
        self.delta = DELTA_TYPE_OF.get(self.kind)
        self.state = "closed" if self.delta is None else "open"
        self.start = None if self.delta is None else event

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    def accepts(self, event: object) -> bool:
        """Return whether the grammar allows this event now."""
        if self.kind is None:
            return False
        return type(event) in TURN_GRAMMAR[STARTED_BY[self.kind]].get(self.state, ())

    def renumber(self, event: Any) -> Any:
        """Return the event with the number that the part is written with."""
        if event.part == self.number:
            return event
        return msgspec.structs.replace(event, part=self.number)

    # -- the text of reasoning, which its seals sign

    def observe_text(self, text: str) -> None:
        """Note text of the model."""
        if self.kind is None or self.is_open:
            self._compare_from_now()
            self._model_hash.update(text.encode("utf-8", "surrogatepass"))

    def write_text(self, text: str) -> None:
        """Note text that is written."""
        if self.kind is ev.ToolCallStarted:
            self.args.append(text)
        elif self.kind is ev.ReasoningStarted:
            self._compare_from_now()
            self._written_hash.update(text.encode("utf-8", "surrogatepass"))

    def observe_restored(self, text: str) -> None:
        """Note the complete text of the model, which replaces all that came before."""
        self._compare_from_now()
        self._model_hash = hashlib.blake2b(text.encode("utf-8", "surrogatepass"))

    def write_restored(self, text: str) -> None:
        """Note the complete text that is written."""
        self._compare_from_now()
        self._written_hash = hashlib.blake2b(text.encode("utf-8", "surrogatepass"))
        self.args = [text] if self.kind is ev.ToolCallStarted else []

    def _compare_from_now(self) -> None:
        if self.is_unchanged_so_far:
            self.is_unchanged_so_far = False
            self._model_hash, self._written_hash = hashlib.blake2b(), hashlib.blake2b()

    @property
    def is_reasoning(self) -> bool:
        return ev.ReasoningStarted in (self.model_kind, self.kind)

    @property
    def keeps_seals(self) -> bool:
        """Whether seals are still valid: reasoning whose text was changed has lost them."""
        return not self.is_reasoning or (self.model_kind is self.kind and not self.is_changed)

    # -- its end

    def close(self) -> list[Event]:
        """End the part. Returns the seals that had to wait until the whole text was known."""
        self.state = "closed"
        is_early = self.model_kind is not None and not self.has_model_ended
        if is_early or (
            not self.is_unchanged_so_far
            and self._model_hash.digest() != self._written_hash.digest()
        ):
            self.is_changed = True
        self._model_hash = self._written_hash = None
        seals, self.seals = self.seals, []
        self.args = []
        return [*seals] if self.keeps_seals else []

    def close_with(self, event: Any, original: Event) -> list[Event]:
        """End the part with this event. Returns the events that are written."""
        seals = self.close()
        if self.kind is ev.ToolCallStarted:
            return [*seals, _legal_call_end(event, self.start, self.number, original)]
        if isinstance(event, ev.ReasoningFinished) and event.signature and not self.keeps_seals:
            return [ev.ReasoningFinished(self.number)]
        return [*seals, self.renumber(event)]

    def close_without_end(self) -> list[Event]:
        """Close a part whose end was left out. Returns the events that end it."""
        raw = "".join(self.args)
        seals = self.close()
        if self.kind is ev.TextStarted:
            return [*seals, ev.TextFinished(self.number)]
        if self.kind is ev.ReasoningStarted:
            return [*seals, ev.ReasoningFinished(self.number)]
        call_id, name = self.start.call_id, self.start.name
        malformed = ev.ToolCallMalformed(
            part=self.number, call_id=call_id, name=name, raw=raw, error=END_LEFT_OUT
        )
        return [*seals, malformed]


def _legal_call_end(
    event: ev.ToolCallFinished | ev.ToolCallMalformed,
    start: ev.ToolCallStarted,
    number: int,
    original: Event,
) -> Event:
    """Return the end of a call with the id and name of its start, and with `raw` and `args` that
    say the same: what is logged is what runs and what is sent back. Malformed if that fails."""
    identity: dict[str, Any] = {"part": number, "call_id": start.call_id, "name": start.name}
    end = event
    if any(getattr(event, name) != value for name, value in identity.items()):
        end = msgspec.structs.replace(event, **identity)
    if event is original or isinstance(end, ev.ToolCallMalformed):
        return end
    is_same = isinstance(original, ev.ToolCallFinished) and original.part == event.part
    try:
        raw, args = _reconcile(end, original if is_same else None, is_text=start.input == "text")
    except _NOT_JSON as error:
        why = f"the rewritten arguments are not JSON: {error}"
        return ev.ToolCallMalformed(**identity, raw=end.raw, error=why)
    return msgspec.structs.replace(end, raw=raw, args=args)


def _reconcile(end: ev.ToolCallFinished, original: Any, *, is_text: bool) -> tuple[str, Any]:
    """Return `raw` and `args` that agree: by `raw` if only that was changed, else by `args`."""
    args = _encode(end.args, is_text=is_text)
    is_raw_decisive = (
        original is not None
        and end.raw != original.raw
        and args == _encode(original.args, is_text=is_text)
    )
    if is_raw_decisive:
        return end.raw, _parse(end.raw, is_text=is_text)
    try:
        is_same = _encode(_parse(end.raw, is_text=is_text), is_text=is_text) == args
    except _NOT_JSON:
        is_same = False
    raw = end.raw if is_same else args.decode()
    return raw, raw if is_text else msgspec.json.decode(args)


def _encode(args: Any, *, is_text: bool) -> bytes:
    return args.encode() if is_text and isinstance(args, str) else msgspec.json.encode(args)


def _parse(raw: str, *, is_text: bool) -> Any:
    return raw if is_text else parse_arguments(raw, DEFAULT_WIRE_LIMITS.max_depth)

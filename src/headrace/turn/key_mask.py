"""Masks the API key of a call in what the provider sends back, before anything else sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

import msgspec

from headrace.events import TurnEvent
from headrace.events.grammar import DELTA_TYPE_OF
from headrace.events.turn import (
    DeltaEvent,
    PartRestored,
    ReasoningDelta,
    ReasoningFinished,
    TextDelta,
    TextFinished,
    ToolCallArgsDelta,
    ToolCallFinished,
    ToolCallMalformed,
    TurnFailed,
    TurnFinished,
)
from headrace.secrets.known import HIDDEN
from headrace.secrets.mask import Mask, MaskedText
from headrace.wire.decoder import ReadResult
from headrace.wire.json.value import as_object

SHOWN_CHARS: Final = 3
"""Most characters at the beginning of a key that are shown. Fewer would delay every text that ends
with the first letter of a key."""
_PART_ENDS = (TextFinished, ReasoningFinished, ToolCallFinished, ToolCallMalformed)
_TURN_ENDS = (TurnFinished, TurnFailed)


class KeyMask:
    """Replaces keys in the events of one turn.

    In text and reasoning, a key becomes as many asterisks, so that positions in the text stay the
    same; elsewhere it becomes `[secret]`. A key may be divided among several deltas: text is held
    back only while it ends with the beginning of a key, at most until its part ends. Other events
    are passed on as they are.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted(set(keys), key=len, reverse=True)
        self._mask = Mask(self._keys, mark=HIDDEN)
        hint = "|".join(map(_hint_of, self._keys))
        is_suspect = re.compile(hint).search
        self._is_suspect: dict[type, Callable[[str], object]] = {
            TextDelta: is_suspect,
            ReasoningDelta: is_suspect,
            # In JSON a key may be written with escapes.
            ToolCallArgsDelta: re.compile(rf"\\|{hint}").search,
        }
        self._find_key = re.compile(rf"\\|{'|'.join(map(re.escape, self._keys))}|%").search
        self._kinds: dict[int, type[DeltaEvent]] = {}
        # Parts whose text ends with the beginning of a key, or is JSON with escapes.
        self._open: dict[int, tuple[type[DeltaEvent], StreamedText | MaskedText]] = {}

    def wrap(self, feed: Callable[[bytes], ReadResult]) -> Callable[[bytes], ReadResult]:
        """Return a function that decodes a read with `feed` and masks its events."""
        if len(self._keys) > 1:
            return lambda read: self.feed(list_events(feed(read)))
        opened, mask = self._open, self.feed
        first = self._keys[0][: SHOWN_CHARS + 1]
        ends = frozenset(first[:SHOWN_CHARS])

        def feed_masked(read: bytes) -> ReadResult:
            events = feed(read)
            event = events[0] if type(events) is list and len(events) == 1 else events
            if (type(event) is TextDelta or type(event) is ReasoningDelta) and not opened:
                # Nearly every read ends here: one delta without anything of the key.
                text = event.text
                if text[-1] not in ends and first not in text:
                    return event
            return mask(list_events(events)) if events else events

        return feed_masked

    def feed(self, events: list[TurnEvent]) -> list[TurnEvent]:
        """Return the events without keys."""
        return [masked for event in events for masked in self._feed_one(event)]

    def _feed_one(self, event: TurnEvent) -> Sequence[TurnEvent]:
        if isinstance(event, TextDelta | ReasoningDelta | ToolCallArgsDelta):
            return self._feed_delta(event)
        masked: TurnEvent = self._hide(event)
        if (delta_type := DELTA_TYPE_OF.get(type(event))) is not None:
            self._kinds[cast("Any", event).part] = delta_type
        if isinstance(event, PartRestored):
            kind = self._kinds.get(event.part, TextDelta)
            text = self._create_text(kind)
            self._open[event.part] = (kind, text)
            return [PartRestored(event.part, text.feed(event.text))]
        if isinstance(event, _PART_ENDS):
            return [*self._close_part(event.part), masked]
        if isinstance(event, _TURN_ENDS):
            rest = [delta for part in list(self._open) for delta in self._close_part(part)]
            return [*rest, masked]
        return [masked]

    def _feed_delta(self, event: DeltaEvent) -> Sequence[TurnEvent]:
        kind = type(event)
        _, text = self._open.get(event.part, (kind, None))
        if text is None:
            if self._is_suspect[kind](event.text) is None:
                return [event]
            text = self._create_text(kind)
        self._open[event.part] = (kind, text)
        shown = text.feed(event.text)
        if isinstance(text, StreamedText) and text.is_idle:
            del self._open[event.part]
        if shown == event.text:
            return [event]
        return [kind(event.part, shown)] if shown else []

    def _close_part(self, part: int) -> list[TurnEvent]:
        kind, text = self._open.pop(part, (None, None))
        rest = "" if text is None else text.close()
        return [kind(part, rest)] if kind is not None and rest else []

    def _create_text(self, kind: type[DeltaEvent]) -> StreamedText | MaskedText:
        return self._mask.json_text() if kind is ToolCallArgsDelta else StreamedText(self._keys)

    def _hide(self, value: Any) -> Any:
        """Hide keys in a value and everything in it; return the same object if it has none."""
        if isinstance(value, str):
            return self._hide_text(value)
        if isinstance(value, msgspec.Struct):
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            changed = {name: self._hide(field) for name, field in fields.items()}
            if all(changed[name] is field for name, field in fields.items()):
                return value
            return msgspec.structs.replace(value, **changed)
        if isinstance(value, dict):
            pairs = as_object(cast("object", value)).items()
            hidden = {self._hide(name): self._hide(inner) for name, inner in pairs}
            return cast("Any", value) if _is_same(hidden.items(), pairs) else hidden
        if isinstance(value, list | tuple):
            items = cast("Sequence[Any]", value)
            changed_items = [self._hide(item) for item in items]
            if all(new is old for new, old in zip(changed_items, items, strict=True)):
                return items
            return tuple(changed_items) if isinstance(value, tuple) else changed_items
        return value

    def _hide_text(self, text: str) -> str:
        if self._find_key(text) is None:
            return text
        return self._mask.hide_json(text) if "\\" in text else self._mask.hide(text)


def list_events(events: ReadResult) -> list[TurnEvent]:
    """Return the events of a read as a list, even if it is a single delta."""
    return events if isinstance(events, list) else [events]


def _is_same(new: Iterable[tuple[Any, Any]], old: Iterable[tuple[Any, Any]]) -> bool:
    return all(a is c and b is d for (a, b), (c, d) in zip(new, old, strict=True))


def _hint_of(key: str) -> str:
    """Return a pattern for the beginning of a key, or less of it at the end of a text."""
    start = SHOWN_CHARS + 1
    ends = [rf"{re.escape(key[:size])}\Z" for size in range(1, start)]
    return "|".join([re.escape(key[:start]), *ends])


class StreamedText:
    """Masks keys in one text that arrives in pieces; the length of the text is kept."""

    __slots__ = ("_hidden", "_keys", "_shown", "_tail")

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        # The end of the text that may become a key, which of its characters are hidden already,
        # and how many of them were returned.
        self._tail = ""
        self._hidden = bytearray()
        self._shown = 0

    @property
    def is_idle(self) -> bool:
        """Whether the text does not end with the beginning of a key."""
        return not self._tail

    def feed(self, text: str) -> str:
        """Return the text that is safe after this piece."""
        whole = self._tail + text
        hidden = self._hidden + bytes(len(text))
        for key in self._keys:
            at = whole.find(key)
            while at >= 0:
                hidden[at : at + len(key)] = b"\x01" * len(key)
                at = whole.find(key, at + 1)
        tail = self._find_tail(whole)
        start = len(whole) - tail
        # A short beginning of a key is shown at once.
        end = max(start if tail > SHOWN_CHARS else len(whole), self._shown)
        result = _apply(whole[self._shown : end], hidden[self._shown : end])
        self._tail, self._hidden = whole[start:], hidden[start:]
        self._shown = max(0, end - start)
        return result

    def close(self) -> str:
        """Return the rest at the end of the text. Most of a key, cut off there, is masked too."""
        tail, hidden, shown = self._tail, self._hidden, self._shown
        for key in self._keys:
            size = len(tail)
            while size and tail[-size:] != key[:size]:
                size -= 1
            if size >= max(8, len(key) // 2):
                hidden[-size:] = b"\x01" * size
        self._tail, self._hidden, self._shown = "", bytearray(), 0
        return _apply(tail[shown:], hidden[shown:])

    def _find_tail(self, whole: str) -> int:
        """Return how many characters at the end are the beginning of a key."""
        for size in range(min(len(whole), len(self._keys[0]) - 1), 0, -1):
            end = whole[-size:]
            if any(len(key) > size and key.startswith(end) for key in self._keys):
                return size
        return 0


def _apply(text: str, hidden: bytearray) -> str:
    if not any(hidden):
        return text
    return "".join("*" if flag else char for char, flag in zip(text, hidden, strict=True))

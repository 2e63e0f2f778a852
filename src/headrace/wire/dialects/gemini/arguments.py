"""Arguments that come piece by piece, each with the path where it belongs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from headrace.wire.json.value import as_list, as_object, as_objects, as_text

_STEP = re.compile(
    r"\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]"
)
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_MAX_STEPS = 64


class _GrowingText:
    """A string that grows; joined once, when it is read."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]


class PartialArguments:
    """The object that the pieces build. Strings grow; anything else is set. `size` counts what has
    come."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}
        self.size = 0

    @property
    def value(self) -> dict[str, Any]:
        """The object so far."""
        return as_object(_read(self._root))

    def set_all(self, whole: dict[str, Any]) -> None:
        """Take arguments that came complete."""
        self._root.update(whole)

    def feed(self, pieces: Any) -> None:
        """Take the `partialArgs` of one chunk."""
        for piece in as_objects(pieces):
            name = next((name for name in _VALUES if name in piece), None)
            steps = _parse_path(as_text(piece.get("jsonPath")) or "")
            if name is not None and steps:
                value = None if name == "nullValue" else piece[name]
                self.size += len(value) if isinstance(value, str) else 8
                self._put(steps, value)

    def _put(self, steps: list[str | int], value: Any) -> None:
        place: Any = self._root
        for step, following in pairwise(steps):
            place = _descend(place, step, [] if isinstance(following, int) else {})
        _set(place, steps[-1], value)


def _parse_path(path: str) -> list[str | int]:
    found: list[str | int] = []
    for match in _STEP.finditer(path):
        name = match[1] or match[3] or match[4]
        found.append(name if name is not None else int(match[2]))
    return found[:_MAX_STEPS]


def _descend(place: Any, step: str | int, empty: Any) -> Any:
    known = _get(place, step)
    if as_object(known) is known or as_list(known) is known:
        return known
    _set(place, step, empty)
    return empty


def _get(place: Any, step: str | int) -> Any:
    entries = as_list(place)
    if isinstance(step, int):
        return entries[step] if step < len(entries) else None
    return as_object(place).get(step)


def _set(place: Any, step: str | int, value: Any) -> None:
    """Set or extend a value; an index beyond the end of a list appends to it."""
    known = _get(place, step)
    if isinstance(known, _GrowingText) and isinstance(value, str):
        known.pieces.append(value)
        return
    kept = _GrowingText(value) if isinstance(value, str) else value
    if isinstance(step, str):
        as_object(place)[step] = kept
    elif step < len(as_list(place)):
        as_list(place)[step] = kept
    else:
        as_list(place).append(kept)


def _read(value: Any) -> Any:
    if isinstance(value, _GrowingText):
        return "".join(value.pieces)
    if as_list(value) is value:
        return [_read(entry) for entry in as_list(value)]
    if as_object(value) is value:
        return {key: _read(entry) for key, entry in as_object(value).items()}
    return value

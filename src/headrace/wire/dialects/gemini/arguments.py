"""Arguments that come piece by piece, each with the path to where it belongs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from headrace.wire.json_value import as_objects, as_text

_STEP = re.compile(
    r"\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]"
)
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_MAX_STEPS = 64


class PartialArguments:
    """The object that the pieces build. Strings grow; anything else is set."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}

    def feed(self, pieces: Any) -> None:
        """The `partialArgs` of one chunk."""
        for piece in as_objects(pieces):
            name = next((name for name in _VALUES if name in piece), None)
            steps = _steps(as_text(piece.get("jsonPath")) or "")
            if name is not None and steps:
                value = None if name == "nullValue" else piece[name]
                self._put(steps, value)

    def _put(self, steps: list[str | int], value: Any) -> None:
        place: Any = self.value
        for step, following in pairwise(steps):
            place = _descend(place, step, [] if isinstance(following, int) else {})
        _set(place, steps[-1], value)


def _steps(path: str) -> list[str | int]:
    found: list[str | int] = []
    for match in _STEP.finditer(path):
        name = match[1] or match[3] or match[4]
        found.append(name if name is not None else int(match[2]))
    return found[:_MAX_STEPS]


def _descend(place: Any, step: str | int, empty: Any) -> Any:
    known = _get(place, step)
    if isinstance(known, dict | list):
        return known  # pyright: ignore[reportUnknownVariableType]
    _set(place, step, empty)
    return empty


def _get(place: Any, step: str | int) -> Any:
    if isinstance(place, dict):
        return place.get(step)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(place, list) and isinstance(step, int) and step < len(place):  # pyright: ignore[reportUnknownArgumentType]
        return place[step]  # pyright: ignore[reportUnknownVariableType]
    return None


def _set(place: Any, step: str | int, value: Any) -> None:
    """Set or lengthen; a place that a list does not reach yet is its next one."""
    known = _get(place, step)
    if isinstance(known, str) and isinstance(value, str):
        value = known + value
    if isinstance(place, dict):
        place[str(step)] = value
    elif isinstance(place, list) and isinstance(step, int):
        if step < len(place):  # pyright: ignore[reportUnknownArgumentType]
            place[step] = value
        else:
            place.append(value)  # pyright: ignore[reportUnknownMemberType]

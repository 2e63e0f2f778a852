"""Keeps the fields of deltas that the dialect does not read, up to a limit."""

from __future__ import annotations

from typing import Any

from headrace.wire.dialects.chat.chunk import StrictDelta
from headrace.wire.json.value import as_int, as_object, as_objects

# Payloads that are looked through for unread fields; a peer cannot make it more.
_MAX_BYTES = 64 * 1024
_READ = frozenset(StrictDelta.__struct_fields__)


class UnreadFields:
    """The unread fields of all deltas, by choice and name.

    `is_full` tells that the limit is reached: later fields are not kept.
    """

    __slots__ = ("_room", "_values", "is_full")

    def __init__(self) -> None:
        self.is_full = False
        self._room = _MAX_BYTES
        self._values: dict[str, dict[str, list[Any]]] = {}

    def add(self, payload: dict[str, Any], size: int) -> None:
        """Keep the unread fields of one chunk of `size` bytes."""
        found = [
            (f"choice.{as_int(choice.get('index')) or 0}.delta", field, value)
            for choice in as_objects(payload.get("choices"))
            for field, value in as_object(choice.get("delta")).items()
            if field not in _READ and value not in (None, "", {}, [])
        ]
        if not found:
            return
        self._room -= size
        if self._room < 0:
            self.is_full = True
            return
        for name, field, value in found:
            self._append(name, field, value)

    def _append(self, name: str, field: str, value: Any) -> None:
        """Add a value, unless it only repeats the one before."""
        values = self._values.setdefault(name, {}).setdefault(field, [])
        if values[-1:] != [value]:
            values.append(value)

    def collect(self) -> dict[str, Any]:
        """Return what was kept, by the names for `provider_data`."""
        kept: dict[str, Any] = dict(self._values)
        return kept | ({"unread_fields_left_out": True} if self.is_full else {})

"""Item and part numbers, counted through a whole run, and the limits on how many there are."""

from __future__ import annotations

from collections.abc import Hashable

from headrace.errors import LimitExceeded
from headrace.wire.limits import WireLimits


class Counters:
    """Assigns item and part numbers. Items with a key are looked up; others are new each time."""

    __slots__ = (
        "_call_ids", "_calls", "_citations", "_copies", "_first_part", "_items", "_limits",
        "is_limited", "next_item", "next_part",
    )  # fmt: skip

    def __init__(self, limits: WireLimits, first_item: int, first_part: int) -> None:
        self._limits = limits
        self._first_part = first_part
        self.next_item = first_item
        self.next_part = first_part
        self._items: dict[Hashable, int] = {}
        self._call_ids: set[str] = set()
        self._copies: dict[str, int] = {}
        self._calls = 0
        self._citations = 0
        self.is_limited = True

    def take_part(self) -> int:
        """Return the number of a new part."""
        number = self.next_part
        if self.is_limited and number - self._first_part >= self._limits.max_parts:
            raise LimitExceeded("max_parts", self._limits.max_parts)
        self.next_part = number + 1
        return number

    def get_item(self, key: Hashable | None) -> int:
        """Return the number of the item with this key; None stands for a new item."""
        number = self.next_item if key is None else self._items.setdefault(key, self.next_item)
        if number == self.next_item:
            self.next_item += 1
        return number

    def count_call(self) -> None:
        """Count one more call of this turn, started or held back."""
        self._calls += 1
        if self._calls > self._limits.max_calls:
            raise LimitExceeded("max_calls", self._limits.max_calls)

    def count_citation(self) -> None:
        """Count one more source of this turn."""
        self._citations += 1
        if self.is_limited and self._citations > self._limits.max_citations:
            raise LimitExceeded("max_citations", self._limits.max_citations)

    def make_call_id(self, given: str | None, part: int) -> str:
        """Return an id that no other call of the turn has, so that results find their calls."""
        wanted = unique = given or f"call_{part}"
        copy = self._copies.get(wanted, 1)
        while unique in self._call_ids:
            copy += 1
            unique = f"{wanted}~{copy}"
        if copy > 1:
            self._copies[wanted] = copy
        self._call_ids.add(unique)
        return unique

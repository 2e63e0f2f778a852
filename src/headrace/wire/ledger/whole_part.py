"""The base of an output: numbers its parts, and adds those that come whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

from headrace.content import Content
from headrace.errors import LimitExceeded
from headrace.events import (
    JSONObject,
    MediaProduced,
    OpaqueItem,
    ReasoningRedacted,
    ToolOutput,
    TurnEvent,
)
from headrace.wire.ledger.counter import Counters
from headrace.wire.limits import WireLimits


class WholeParts:
    """Adds parts that one event brings: encrypted reasoning, tool results, media, unknown items."""

    __slots__ = ("_append", "_counters", "_max_chars", "_part_of_item", "number")

    def __init__(
        self, number: int, events: list[TurnEvent], counters: Counters, limits: WireLimits
    ) -> None:
        self.number = number
        self._append = events.append
        self._counters = counters
        self._max_chars = limits.max_part_chars
        self._part_of_item: dict[Hashable, int] = {}

    @abstractmethod
    def _begin_part(self) -> None:
        """Close what must not be open beside a new part."""

    def find_part(self, item_key: Hashable) -> int | None:
        """Return the latest part of an item."""
        return self._part_of_item.get(item_key)

    def check_size(self, chars: int) -> None:
        """Raise `LimitExceeded` if text that a dialect collects is larger than a part may be."""
        if chars > self._max_chars:
            raise LimitExceeded("max_part_chars", self._max_chars)

    def add_redacted(
        self, data: str, *, item_id: str | None = None, provider_data: JSONObject | None = None
    ) -> None:
        """Add a block of encrypted reasoning."""
        place = self._start_whole_part(None, item_id)
        self._append(ReasoningRedacted(**place, data=data, provider_data=provider_data))

    def add_tool_output(
        self,
        call_id: str,
        content: tuple[Content, ...],
        *,
        is_error: bool = False,
        item_key: Hashable = None,
        item_id: str | None = None,
        provider_data: JSONObject | None = None,
    ) -> None:
        """Add the result of a tool that the provider ran."""
        self._append(
            ToolOutput(
                **self._start_whole_part(item_key, item_id),
                call_id=call_id,
                content=content,
                is_error=is_error,
                provider_data=provider_data,
            )
        )

    def add_media(
        self,
        media_type: str,
        *,
        data: str | None = None,
        url: str | None = None,
        item_key: Hashable = None,
        item_id: str | None = None,
    ) -> None:
        """Add an image, audio or video."""
        place = self._start_whole_part(item_key, item_id)
        self._append(MediaProduced(**place, media_type=media_type, data=data, url=url))

    def add_opaque(self, kind: str, data: str, *, item_id: str | None = None) -> None:
        """Add an item that is not interpreted; `data` is its JSON as it came."""
        self._append(OpaqueItem(**self._start_whole_part(None, item_id), kind=kind, data=data))

    def _start_whole_part(self, item_key: Hashable, item_id: str | None) -> JSONObject:
        self._begin_part()
        return self._assign_numbers(self._counters.take_part(), item_key, item_id)

    def _assign_numbers(self, part: int, item_key: Hashable, item_id: str | None) -> JSONObject:
        if item_key is not None:
            self._part_of_item[item_key] = part
        item = self._counters.get_item(self._make_item_key(item_key))
        return {"part": part, "output": self.number, "item": item, "item_id": item_id}

    def _make_item_key(self, item_key: Hashable) -> Hashable:
        return None if item_key is None else (self.number, item_key)

"""The output items of a response by their number, and the frames that announce and end them."""

from __future__ import annotations

from headrace import events as ev
from headrace.events import JSONObject
from headrace.projections.openai_responses.frame import EventFrame, ResponsesFrame


class ItemList:
    """The items of one response, and the number of the next frame.

    Texts, reasoning and calls share it. `turn` is the turn that is being shown.
    """

    def __init__(self, suffix: str, *, includes_seals: bool, label: str) -> None:
        self.items: list[JSONObject | None] = []
        """The items by their number; None for those that are open."""
        self.sequence = 0
        """Number of the next frame."""
        self.includes_seals = includes_seals
        self.label = label
        """Name of the server of the agent's tools."""
        self.suffix = suffix
        self.turn = ev.TurnStarted(dialect="")
        self._ids: set[str] = set()

    @property
    def is_ours(self) -> bool:
        """Whether the provider of the turn speaks this protocol."""
        return self.turn.dialect == "responses"

    def frame(self, type: str, fields: JSONObject) -> EventFrame:
        """Create the next frame."""
        frame = EventFrame(type, self.sequence, fields)
        self.sequence += 1
        return frame

    def reserve(self) -> int:
        """Return the number of a new item."""
        self.items.append(None)
        return len(self.items) - 1

    def announce(self, index: int, item: JSONObject) -> EventFrame:
        """Return the frame that begins an item."""
        return self.frame("response.output_item.added", {"output_index": index, "item": item})

    def finish(self, index: int, item: JSONObject) -> EventFrame:
        """Return the frame that ends an item."""
        self.items[index] = item
        return self.frame("response.output_item.done", {"output_index": index, "item": item})

    def add_whole(self, item: JSONObject) -> list[ResponsesFrame]:
        """Return the frames of an item that is complete."""
        index = self.reserve()
        return [self.announce(index, item), self.finish(index, item)]

    def make_id(self, prefix: str, index: int, item_id: str | None = None) -> str:
        """Return the id of an item: the provider's own if it speaks this protocol."""
        if self.is_ours and item_id and item_id not in self._ids:
            self._ids.add(item_id)
            return item_id
        return f"{prefix}_{self.suffix}_{index}"

"""The output of a response: its items in order, whatever kind they are of."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from headrace import events as ev
from headrace.events import JSONObject
from headrace.projections.openai_responses import provider_item as provided
from headrace.projections.openai_responses.calls import CallItems
from headrace.projections.openai_responses.frame import ResponsesFrame
from headrace.projections.openai_responses.item_list import ItemList
from headrace.projections.openai_responses.prose import ProseItems, encode_seals
from headrace.wire.json.value import as_object

Frames: TypeAlias = list[ResponsesFrame]


class ResponseOutput:
    """The items of one response. A new item ends the message or reasoning item that is open."""

    def __init__(self, suffix: str, *, raw_noun: str, includes_seals: bool, label: str) -> None:
        self._list = ItemList(suffix, includes_seals=includes_seals, label=label)
        self.prose = ProseItems(self._list, raw_noun)
        self.calls = CallItems(self._list)
        self.frame = self._list.frame
        self.add_delta = self.prose.add_delta
        self.add_arguments = self.calls.add_arguments

    def __len__(self) -> int:
        return len(self._list.items)

    def snapshot(self) -> list[JSONObject]:
        """Return the items that are finished."""
        return [item for item in self._list.items if item is not None]

    def start_turn(self, event: ev.TurnStarted) -> None:
        """Begin a turn. The numbers of items and the ids of calls begin again."""
        self._list.turn = event
        self.prose.start_turn()
        self.calls.start_turn()

    def end_turn(self, *, is_cut: bool) -> Frames:
        """End what the turn has left open. `is_cut` tells whether the last item broke off."""
        frames = self.prose.close("incomplete" if is_cut else "completed")
        return [*frames, *self.calls.end_turn(is_cut=is_cut), *self._add_seal_items()]

    def close(self) -> Frames:
        """End everything that is open: the response ends here."""
        return [*self.prose.close("incomplete"), *self.calls.close()]

    def seal(self, event: ev.PartSealed) -> None:
        """Keep a seal until the item that carries it is done."""
        if not self.prose.seal(event):
            self.calls.seal(event)

    def restore(self, event: ev.PartRestored) -> Frames:
        """Replace what came of a part. What was sent stays, and the end of the part repeats it
        whole."""
        self.calls.restore(event.part, event.text)
        return self.prose.restore(event.part, event.text)

    def start_call(self, event: ev.ToolCallStarted, *, is_agents: bool) -> Frames:
        """Begin a call. `is_agents` tells whether the agent of this server runs the tool."""
        return [*self.prose.leave(), *self.calls.start_call(event, is_agents=is_agents)]

    def add_output(self, event: ev.ToolOutput) -> Frames:
        """End the call of a tool that the provider ran."""
        return [*self.prose.leave(), *self.calls.add_output(event)]

    def add_media(self, event: ev.MediaProduced) -> Frames:
        """Add an image."""
        return [*self.prose.leave(), *self.calls.add_media(event)]

    def add_opaque(self, event: ev.OpaqueItem) -> Frames:
        """Add an item that Headrace does not interpret, if it came in this protocol."""
        if not self._list.is_ours:
            return []
        try:
            item = as_object(msgspec.json.decode(event.data))
        except (msgspec.DecodeError, UnicodeEncodeError):
            return []
        return [*self.prose.leave(), *self._list.add_whole(item)] if item else []

    def add_approval_request(self, item_id: str, event: ev.InputRequested) -> Frames:
        """Add a request for the approval of a call."""
        arguments = msgspec.json.encode(event.args).decode()
        label = event.server or self._list.label
        item = provided.start_item("mcp_approval_request", item_id, event.name, label)
        return [*self.prose.leave(), *self._list.add_whole(item | {"arguments": arguments})]

    def _add_seal_items(self) -> Frames:
        """Return reasoning items that carry the seals of calls and texts, which have no place for
        them in this protocol."""
        if not self._list.includes_seals or self._list.is_ours:
            return []
        turn = self._list.turn
        sealed = [
            *(encode_seals(turn, seals, call_id=name) for name, seals in self.calls.seals.items()),
            *(
                encode_seals(turn, seals, item=at, is_of_text=True)
                for at, seals in self.prose.text_seals.items()
            ),
        ]
        return [frame for text in sealed for frame in self._add_seal_item(text)]

    def _add_seal_item(self, text: str) -> Frames:
        item_id = self._list.make_id("rs", len(self))
        item: JSONObject = {
            "id": item_id,
            "type": "reasoning",
            "summary": [],
            "encrypted_content": text,
        }
        return self._list.add_whole(item)

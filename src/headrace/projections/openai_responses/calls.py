"""Calls: of the client, of the agent of this server, and of tools that the provider runs."""

from __future__ import annotations

from typing import Any, TypeAlias

from headrace import events as ev
from headrace.content import Content
from headrace.events import JSONObject
from headrace.projections.openai_responses import provider_item as provided
from headrace.projections.openai_responses.frame import (
    ArgumentsDeltaFrame,
    EventFrame,
    ResponsesFrame,
)
from headrace.projections.openai_responses.item_list import ItemList
from headrace.wire.json.value import as_object, as_text

Frames: TypeAlias = list[ResponsesFrame]
# Calls of a client that have item types of their own, and where their arguments stand.
_CLIENT_FIELDS = {
    "apply_patch_call": "operation",
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "tool_search_call": "arguments",
}


class _Call:
    """A call that is open: of the client, of the agent, or of the provider."""

    def __init__(self, index: int, item: JSONObject, event: ev.ToolCallStarted) -> None:
        self.index = index
        self.item = item
        self.call_id = event.call_id
        self.number = event.item
        self.is_clients = False
        self.noun: str | None = None
        """Beginning of the types of the events with its arguments, if they are streamed."""
        self.field = "arguments"
        self.raw = ""
        self.is_written = False
        """Whether the arguments are complete."""


class CallItems:
    """The calls of a response. Each method takes an event and returns its frames."""

    def __init__(self, items: ItemList) -> None:
        self._list = items
        self._calls: dict[int, _Call] = {}
        self._by_call_id: dict[str, _Call] = {}
        self._by_item: dict[int, _Call] = {}
        self._part_calls: dict[int, str] = {}
        self.seals: dict[str, list[tuple[ev.SealKind, str]]] = {}
        """Seals of calls, by their id."""

    def start_turn(self) -> None:
        """Begin a turn: the ids of calls begin again."""
        self._by_call_id, self._by_item = {}, {}
        self._part_calls, self.seals = {}, {}

    def end_turn(self, *, is_cut: bool) -> Frames:
        """End the calls that do not outlive their turn."""
        frames: Frames = []
        for part, call in list(self._calls.items()):
            if not self._is_agents(call):
                status = "completed" if call.is_written and not is_cut else "incomplete"
                frames += self._finish_call(part, call, None, status)
        return frames

    def close(self) -> Frames:
        """End all calls that are open."""
        frames: Frames = []
        for part, call in list(self._calls.items()):
            frames += self._finish_call(part, call, None, "incomplete")
        return frames

    def seal(self, event: ev.PartSealed) -> None:
        """Keep the seal of a call."""
        call_id = self._part_calls.get(event.part)
        if call_id is not None:
            self.seals.setdefault(call_id, []).append((event.kind, event.value))

    def restore(self, part: int, text: str) -> None:
        """Replace the arguments that came of a call."""
        if part in self._calls:
            self._calls[part].raw = text

    def start_call(self, event: ev.ToolCallStarted, *, is_agents: bool) -> Frames:
        """Begin a call. `is_agents` tells whether the agent of this server runs the tool."""
        index = self._list.reserve()
        if event.executor == "provider":
            item_type = provided.choose_item_type(event, self._list.is_ours)
            prefix = "ws" if item_type == "web_search_call" else item_type.split("_")[0]
            item_id = self._list.make_id(prefix, index, event.item_id)
            item = provided.start_item(item_type, item_id, event.name, self._list.label)
        elif is_agents:
            item_id = self._list.make_id("mcp", index, None)
            item = provided.start_item("mcp_call", item_id, event.name, self._list.label)
        else:
            item = self._start_client_item(event, index)
        call = _Call(index, item, event)
        call.is_clients = event.executor == "client" and not is_agents
        call.noun, call.field = _choose_events(item["type"])
        self._calls[event.part] = call
        self._part_calls[event.part] = event.call_id
        self._by_call_id[event.call_id] = self._by_item[event.item] = call
        frames: Frames = [self._list.announce(index, item)]
        if not call.is_clients and provided.has_status(item["type"], "in_progress"):
            frames.append(self._status_frame(call, "in_progress"))
        return frames

    def _start_client_item(self, event: ev.ToolCallStarted, index: int) -> JSONObject:
        facts = (event.provider_data or {}) if self._list.is_ours else {}
        kind = as_text(facts.get("type")) or ""
        if kind not in _CLIENT_FIELDS:
            kind = "custom_tool_call" if event.input == "text" else "function_call"
            facts = {name: value for name, value in facts.items() if name != "type"}
        prefix = "ctc" if kind == "custom_tool_call" else "fc"
        item: JSONObject = {"id": self._list.make_id(prefix, index, event.item_id), "type": kind}
        item |= {"call_id": event.call_id, "status": "in_progress"}
        if kind == "function_call":
            item |= {"name": event.name, "arguments": ""}
        elif kind == "custom_tool_call":
            item |= {"name": event.name, "input": ""}
        return facts | item

    def add_arguments(self, part: int, text: str) -> Frames:
        """Return the frame of a delta of arguments."""
        call = self._calls.get(part)
        if call is None or call.noun is None:
            return []
        number = self._list.sequence
        self._list.sequence = number + 1
        return [
            ArgumentsDeltaFrame(f"{call.noun}.delta", number, call.item["id"], call.index, text)
        ]

    def finish_arguments(self, event: ev.ToolCallFinished | ev.ToolCallMalformed) -> Frames:
        """End the arguments of a call, and the call itself if the client runs it."""
        call = self._calls.get(event.part)
        if call is None:
            return []
        call.raw, call.is_written = event.raw, True
        frames: Frames = []
        if call.noun is not None:
            fields = {"item_id": call.item["id"], "output_index": call.index, call.field: event.raw}
            if call.item["type"] == "function_call":
                fields["name"] = event.name
            frames.append(self._list.frame(f"{call.noun}.done", fields))
        if isinstance(event, ev.ToolCallMalformed):
            return [*frames, *self._finish_call(event.part, call, None, "incomplete")]
        if not call.is_clients:
            return frames
        args = event.args
        return [*frames, *self._finish_call(event.part, call, None, "completed", args)]

    def report(self, event: ev.ToolActivity) -> Frames:
        """Report the status of a tool that the provider runs."""
        call = self._calls.get(event.part)
        if call is None:
            return []
        detail = as_object(event.detail)
        if event.status == "partial_image" and detail:
            image = {
                "partial_image_index": detail.get("index"),
                "partial_image_b64": detail.get("data"),
            }
            return [self._status_frame(call, event.status, image)]
        is_told = provided.has_status(call.item["type"], event.status)
        return [self._status_frame(call, event.status)] if is_told else []

    def _status_frame(self, call: _Call, status: str, more: JSONObject | None = None) -> EventFrame:
        fields = {"item_id": call.item["id"], "output_index": call.index}
        return self._list.frame(f"response.{call.item['type']}.{status}", fields | (more or {}))

    def add_output(self, event: ev.ToolOutput) -> Frames:
        """End the call of a tool that the provider ran."""
        call = self._by_call_id.get(event.call_id)
        item = as_object((event.provider_data or {}).get("item"))
        if item and self._list.is_ours and (call is None or call.number != event.item):
            return self._list.add_whole(item)
        if call is None or self._list.items[call.index] is not None:
            return []
        part = next(number for number, open_call in self._calls.items() if open_call is call)
        status = "failed" if event.is_error else "completed"
        return self._finish_call(part, call, event, status)

    def add_result(self, call_id: str, content: tuple[Content, ...], *, is_error: bool) -> Frames:
        """End a call that the agent of this server has run."""
        call = self._by_call_id.get(call_id)
        if call is None or call.is_clients or self._list.items[call.index] is not None:
            return []
        part = next(number for number, open_call in self._calls.items() if open_call is call)
        status = "failed" if is_error else "completed"
        done = call.item | {"status": status, "arguments": call.raw}
        del self._calls[part]
        frames: Frames = [self._status_frame(call, status)]
        done |= provided.encode_result(content, is_error=is_error)
        return [*frames, self._list.finish(call.index, done)]

    def add_media(self, event: ev.MediaProduced) -> Frames:
        """Keep an image for the call that has made it, or add it as an item. Sound, video and
        addresses have no place in this protocol."""
        if event.data is None or not event.media_type.startswith("image"):
            return []
        call = self._by_item.get(event.item)
        if call is not None and call.item["type"] == "image_generation_call":
            call.item = call.item | {"result": event.data}
            done = self._list.items[call.index]
            if done is not None:
                self._list.items[call.index] = done | {"result": event.data}
            return []
        index = len(self._list.items)
        item_id = self._list.make_id("ig", index, event.item_id)
        kind = event.media_type.partition("/")[2]
        head = {"id": item_id, "type": "image_generation_call", "status": "completed"}
        return self._list.add_whole(head | {"result": event.data, "output_format": kind})

    def _is_agents(self, call: _Call) -> bool:
        """Return whether the agent of this server runs the call, so that it outlives its turn."""
        return not call.is_clients and call.item["id"].startswith(f"mcp_{self._list.suffix}_")

    def _finish_call(
        self, part: int, call: _Call, output: ev.ToolOutput | None, status: str, args: Any = None
    ) -> Frames:
        del self._calls[part]
        if call.is_clients:
            done = call.item | {"status": status}
            kind = done["type"]
            if kind in _CLIENT_FIELDS:
                done |= {_CLIENT_FIELDS[kind]: args} if args is not None else {}
            else:
                done |= {"input" if kind == "custom_tool_call" else "arguments": call.raw}
            return [self._list.finish(call.index, done)]
        done = provided.finish_item(call.item, call.raw, output, status)
        told = as_text(done.get("status")) or status
        frames: Frames = []
        if (
            output is not None
            and not self._list.is_ours
            and provided.has_status(done["type"], told)
        ):
            frames.append(self._status_frame(call, told))
        return [*frames, self._list.finish(call.index, done)]


def _choose_events(item_type: str) -> tuple[str | None, str]:
    match item_type:
        case "function_call":
            return "response.function_call_arguments", "arguments"
        case "custom_tool_call":
            return "response.custom_tool_call_input", "input"
        case _:
            noun = provided.ARGUMENT_EVENTS.get(item_type)
            return noun, provided.ARGUMENT_FIELDS.get(item_type, "arguments")

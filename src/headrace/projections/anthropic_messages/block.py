"""One content block of the Messages protocol, from its start to its stop."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace import events as ev
from headrace.content import JSONContent
from headrace.events import JSONObject
from headrace.messages.message import Seal
from headrace.projections.anthropic_messages import frame as fr
from headrace.projections.anthropic_messages.frame import BlockDelta, MessagesFrame

DIALECT = "anthropic"
BlockKind: TypeAlias = Literal["text", "thinking", "call", "whole"]


class OpenBlock:
    """The block that is open. It stays open after its part has ended, until something else
    begins, because its signature and its citations may come late."""

    def __init__(self, index: int, kind: BlockKind, part: int, start: Any) -> None:
        self.index = index
        self.kind = kind
        self.part = part
        self.start = start
        self.is_ended = kind == "whole"
        self.seals: list[Seal] = []
        self.pieces: list[str] = []
        """The arguments of a call so far."""

    @property
    def can_yield(self) -> bool:
        """Whether another block may begin: text that goes on later can do so in a new block."""
        return self.is_ended or self.kind == "text"

    @property
    def _is_plain_text(self) -> bool:
        return isinstance(self.start, ev.ToolCallStarted) and self.start.input == "text"

    def add(self, body: fr.DeltaBody) -> list[MessagesFrame]:
        """Return the frame of a delta."""
        return [BlockDelta(self.index, body)]

    def add_args(self, text: str) -> list[MessagesFrame]:
        """Take more arguments. Plain text is sent at the end, as JSON."""
        self.pieces.append(text)
        return [] if self._is_plain_text else self.add(fr.InputBody(text))

    def end_call(self) -> list[MessagesFrame]:
        """End the arguments."""
        self.is_ended = True
        if not self._is_plain_text:
            return []
        whole = msgspec.json.encode({"input": "".join(self.pieces)}).decode()
        return self.add(fr.InputBody(whole))

    def restore(self, whole: str) -> str | None:
        """Return what is missing at the end of the arguments, or None if something else is."""
        sent = "".join(self.pieces)
        return whole[len(sent) :] if whole.startswith(sent) else None


def describe_start(event: Any, is_ours: bool, shows_calls: bool) -> JSONObject | None:
    """Return the block that a part begins with, or None for what the protocol cannot show.

    `is_ours` is whether the part is from Anthropic's own dialect. Tools that ran on this server,
    or at another provider, are not shown.
    """
    match event:
        case ev.ReasoningStarted():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ev.ToolCallStarted(executor="client") if shows_calls:
            call: JSONObject = {
                "type": "tool_use",
                "id": event.call_id,
                "name": event.name,
                "input": {},
            }
            return call | ((event.provider_data or {}) if is_ours else {})
        case ev.ToolCallStarted(executor="provider") if is_ours:
            call = {"type": "server_tool_use", "id": event.call_id, "name": event.name, "input": {}}
            return call | (event.provider_data or {})
        case ev.ToolOutput() if is_ours:
            return _describe_output(event)
        case ev.OpaqueItem() if is_ours and not event.kind.endswith("_delta"):
            block: JSONObject = msgspec.json.decode(event.data)
            return {"type": event.kind} | block
        case _:
            return None


def _describe_output(event: ev.ToolOutput) -> JSONObject:
    values: list[Any] = [entry.value for entry in event.content if isinstance(entry, JSONContent)]
    facts = event.provider_data or {}
    block: JSONObject = {"tool_use_id": event.call_id, "content": values[0] if values else ""}
    if facts.get("type") == "mcp_tool_result":
        block["is_error"] = event.is_error
    return {"type": "web_search_tool_result"} | facts | block

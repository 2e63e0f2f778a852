"""The OpenAI Responses dialect: items that are added, grow and are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from headrace.errors import LimitExceeded
from headrace.events import DeltaEvent
from headrace.outcome import CONTENT_FILTER, END_TURN, MAX_TOKENS, FinishReason, other_reason
from headrace.usage import Usage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.dialects.responses.call_item import CallItem, ProviderCallItem
from headrace.wire.dialects.responses.event import PlainEvent, WireEvent
from headrace.wire.dialects.responses.item import (
    Item,
    MessageItem,
    ReasoningItem,
    ResultItem,
    UnknownItem,
)
from headrace.wire.error import is_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import REFUSED, decoder_of, encode_json, extract_field
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits
from headrace.wire.openai_usage import parse_openai_usage

_INCOMPLETE: dict[str, FinishReason] = {
    "max_output_tokens": MAX_TOKENS,
    "content_filter": CONTENT_FILTER,
}
# The events that end a response, and the status that each implies.
_FINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    "response.failed": "failed",
    "response.done": "completed",
}
_STATUSES = frozenset(_FINAL.values())
_RESULTS = frozenset({"shell_call_output", "program_output", "tool_search_output"})
_KEPT = frozenset(
    "created_at completed_at metadata previous_response_id truncation safety_identifier"
    " content_filters conversation".split()
)


class ResponsesDialect(JSONDialect[WireEvent]):
    """Reads the events of a Responses stream."""

    name = "responses"
    deltas = frozenset({"delta"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WireEvent, limits)
        self._decode_plain = decoder_of(PlainEvent)
        self._items: dict[int, Item] = {}
        self._undone: dict[int, Item] = {}
        self._strays: dict[tuple[int, str], Item] = {}
        self._ids: set[str] = set()
        self._max_items = limits.max_parts
        self._last_index = -1
        self._response: Output | None = None
        self._may_hide_reasoning = True

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be an event of this dialect."""
        kind = as_text(payload.get("type")) or ""
        if payload.get("object") == "response" and isinstance(payload.get("output"), list):
            return True
        is_flat_error = kind == "error" and "message" in payload and "error" not in payload
        return kind.startswith("response.") or is_flat_error

    def feed(self, frame: Frame) -> None:
        """Read one event."""
        event = self._decode_payload(frame)
        if event is None:
            return
        kind = event.type = event.type or frame.event
        index = self._last_index if event.output_index is None else event.output_index
        item = self._items.get(index)
        if (event.error and is_error(event.error)) or "error" in (kind, frame.event, frame.field):
            self.fail(parse_error(event.error or self._decode_all_fields(frame)))
        elif not kind.startswith("response."):
            self._handle_foreign(frame)
        elif event.item is not None or event.response is not None or item is None:
            self._handle_rare(kind, frame, event)
        elif not item.feed(event):
            self._handle_orphan(kind, event)

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a delta that only continues an open part."""
        if len(data) > self._shallow_bytes:
            return None
        try:
            read = self._decode_plain(data)
        except REFUSED:
            return None
        item = self._items.get(read.output_index)
        return None if item is None else item.read_delta(read)

    def _handle_rare(self, kind: str, frame: Frame, event: WireEvent) -> None:
        match kind:
            case "response.output_item.added" if event.item:
                item = self._add(event.output_index, event.item)
                item.begin(may_be_hidden=self._may_hide_reasoning)
            case "response.output_item.done" if event.item:
                self._finish_item(event.output_index, event.item, frame.data)
            case _ if event.response is not None:
                self._handle_response(kind, event.response)
            case _:
                self._handle_orphan(kind, event)

    def _handle_foreign(self, frame: Frame) -> None:
        """Read a payload that is no event: a whole response, from a server that does not stream,
        or an error."""
        payload = self._decode_all_fields(frame)
        if payload.get("object") == "response" and isinstance(payload.get("output"), list):
            self._handle_response("response.done", payload)
        else:
            self._fail_if_error(frame)

    # -- items

    def _add(self, index: int | None, item: dict[str, Any]) -> Item:
        """Add a new item. It replaces an item with the same number."""
        if len(self._items) + len(self._strays) >= self._max_items:
            raise LimitExceeded("max_parts", self._max_items)
        index = self._last_index + 1 if index is None else index
        self._last_index = index
        replaced = self._undone.pop(index, None)
        if replaced is not None:
            replaced.abandon()
        self._remember_id(item)
        self._undone[index] = self._items[index] = made = _create_item(self._output(), item)
        return made

    def _remember_id(self, item: dict[str, Any]) -> bool:
        """Remember the id of an item; return whether it is new."""
        id = as_text(item.get("id"))
        is_new = id is not None and id not in self._ids
        if id is not None:
            self._ids.add(id)
        return is_new

    def _finish_item(self, index: int | None, item: dict[str, Any], data: bytes) -> None:
        known = self._last_index if index is None else index
        is_new = self._remember_id(item)
        if known not in self._items or (is_new and known not in self._undone):
            self._add(index, item)
            known = self._last_index
        undone = self._undone.pop(known, None)
        if undone is not None:
            undone.finish(item, extract_field(data, "item") or encode_json(item))

    def _handle_orphan(self, kind: str, event: WireEvent) -> None:
        """Take a delta for an item that was never added, or is of another kind: the event shows
        which kind is meant."""
        noun = kind.removeprefix("response.").partition(".")[0]
        made = _FROM_EVENT.get(noun)
        if made is None:
            return
        index = self._last_index if event.output_index is None else event.output_index
        if index not in self._items:
            told = {**made, "id": event.item_id} if event.item_id else made
            self._add(event.output_index, told).feed(event)
            return
        place = (index, made["type"])
        if place not in self._strays:
            if len(self._items) + len(self._strays) >= self._max_items:
                raise LimitExceeded("max_parts", self._max_items)
            self._strays[place] = _create_item(self._output(), made)
        self._strays[place].feed(event)

    def _finish_from_snapshot(self, output: list[dict[str, Any]]) -> None:
        """Finish the items that the stream left open, and add those it left out, from the final
        snapshot."""
        for index, item in enumerate(output):
            is_known = as_text(item.get("id")) in self._ids
            if index in self._undone or (index not in self._items and not is_known):
                self._finish_item(index, item, b"")

    def _is_confirmed_by(self, items: list[dict[str, Any]]) -> bool:
        """Return whether the final snapshot holds no more than what the stream has brought. Some
        servers send an empty one, which says nothing."""
        text = reasoning = 0
        for item in items:
            is_reasoning = item.get("type") == "reasoning"
            chars = sum(
                len(as_text(part.get("text")) or as_text(part.get("refusal")) or "")
                for name in ("content", "summary")
                for part in as_objects(item.get(name))
            )
            text += 0 if is_reasoning else chars
            reasoning += chars if is_reasoning else 0
        return 0 < len(items) == len(self._items) and self._output().is_confirmed_by(
            text_chars=text, reasoning_chars=reasoning
        )

    def _release(self) -> None:
        for item in self._undone.values():
            item.abandon()
        self._undone.clear()

    def _output(self) -> Output:
        if self._response is None:
            self._response = self.ledger.output(0)
        return self._response

    # -- the response

    def _handle_response(self, kind: str, response: dict[str, Any]) -> None:
        self.ledger.start(
            model=as_text(response.get("model")), response_id=as_text(response.get("id"))
        )
        # Routers send null for a model that was asked for no summary, and stream raw reasoning.
        self._may_hide_reasoning = response.get("reasoning", {}) is not None
        usage = as_object(response.get("usage"))
        if usage:
            self.ledger.report(parse_openai_usage(usage))
        if kind in _FINAL:
            self._count_searches(as_objects(response.get("output")))
            # Some servers name every last event `response.completed`; the status tells the truth.
            status = as_text(response.get("status"))
            status = status if status in _STATUSES else _FINAL[kind]
            if status == "failed":
                self.fail(parse_error(response.get("error") or "the response failed"))
            else:
                self._finish(response, status)

    def _count_searches(self, items: list[dict[str, Any]]) -> None:
        """Report the searches of provider-run tools, which the usage leaves out."""
        searches = Counter(filter(None, map(_find_search, items)))
        if searches:
            self.ledger.report(Usage(units=dict(searches)))

    def _finish(self, response: dict[str, Any], status: str) -> None:
        items = as_objects(response.get("output"))
        self._finish_from_snapshot(items)
        if self.ledger.skipped_frames and self._is_confirmed_by(items):
            self.ledger.confirm_complete()
        self.ledger.service_tier = as_text(response.get("service_tier"))
        for name, value in response.items():
            if name in _KEPT and value not in (None, {}, []):
                self.ledger.note(name, value)
        reason, raw = _find_reason(response, status)
        self._output().finish(reason, raw)
        self._end(has_terminator=True)


def _find_search(item: dict[str, Any]) -> str | None:
    """Return the name of the unit that an item is billed as. Of the actions of a web search, only
    the search itself is billed, and not the pages that are opened."""
    if item.get("type") == "file_search_call":
        return "storage_searches"
    if item.get("type") != "web_search_call":
        return None
    action = as_object(item.get("action")).get("type", "search")
    return "web_searches" if action == "search" else None


def _find_reason(response: dict[str, Any], status: str) -> tuple[FinishReason, str]:
    if status == "completed":
        return END_TURN, status
    why = as_text(as_object(response.get("incomplete_details")).get("reason"))
    word = why or status
    return _INCOMPLETE.get(word) or other_reason(word), word


def _create_item(output: Output, item: dict[str, Any]) -> Item:
    """Create the item of the right kind; anything that is neither known nor a call is kept as it
    is."""
    kind = as_text(item.get("type")) or ""
    make = _ITEMS.get(kind)
    if make is not None:
        return make(output, item)
    if kind in _CALLS:
        is_ours = _is_client_call(kind, item)
        return (CallItem if is_ours else ProviderCallItem)(output, item, _CALLS[kind])
    return ResultItem(output, item) if kind in _RESULTS else UnknownItem(output, item)


def _is_client_call(kind: str, item: dict[str, Any]) -> bool:
    """Return whether the client runs the call. Some kinds can be either."""
    match kind:
        case "function_call" | "apply_patch_call" | "local_shell_call" | "computer_call":
            return True
        case "custom_tool_call":
            return as_text(item.get("name")) not in _RUN_BY_PROVIDER
        case "shell_call":
            where = as_text(as_object(item.get("environment")).get("type")) or "local"
            return not where.startswith("container")
        case "tool_search_call":
            return item.get("execution") == "client"
        case _:
            return False


_ITEMS: dict[str, Callable[[Output, dict[str, Any]], Item]] = {
    "message": MessageItem,
    "reasoning": ReasoningItem,
}
# Calls, and the field of the finished item that has their arguments.
_CALLS: dict[str, str] = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "apply_patch_call": "operation",
    "local_shell_call": "action",
    "computer_call": "action",
    "shell_call": "action",
    "tool_search_call": "arguments",
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "arguments",
    "mcp_call": "arguments",
    "mcp_approval_request": "arguments",
    "program": "code",
}
# Tools that xAI runs and reports as custom calls.
_RUN_BY_PROVIDER = frozenset(
    "x_keyword_search x_semantic_search x_user_search x_thread_fetch view_x_video"
    " view_image".split()
)
_FROM_EVENT: dict[str, dict[str, Any]] = {
    "output_text": {"type": "message"},
    "refusal": {"type": "message"},
    "content_part": {"type": "message"},
    "reasoning_text": {"type": "reasoning"},
    "reasoning": {"type": "reasoning"},
    "reasoning_summary_text": {"type": "reasoning"},
    "reasoning_summary_part": {"type": "reasoning"},
    "function_call_arguments": {"type": "function_call"},
    "custom_tool_call_input": {"type": "custom_tool_call"},
    "mcp_call_arguments": {"type": "mcp_call"},
    "code_interpreter_call_code": {"type": "code_interpreter_call"},
    **{
        kind: {"type": kind}
        for kind in (
            "web_search_call",
            "file_search_call",
            "code_interpreter_call",
            "image_generation_call",
            "mcp_call",
        )
    },
}

"""Items that are calls: of client tools, and of tools that the provider runs itself."""

from __future__ import annotations

from typing import Any

from headrace.content import Content, JSONContent, TextContent
from headrace.events import APPROVAL_REQUESTED, CallInput, DeltaEvent, Executor
from headrace.wire.dialects.responses.event import PlainEvent, WireEvent
from headrace.wire.dialects.responses.item import Item
from headrace.wire.json.payload import encode_json
from headrace.wire.json.value import as_object, as_text
from headrace.wire.ledger import Call, Output

_NAMED = frozenset({"id", "type", "status", "call_id", "name"})
_TEXT_FIELDS = ("code", "input")
_STREAMED = ("function_call", "custom_tool_call")
# Events that bring arguments; an `apply_patch` streams a diff, which is only part of them.
_ARGUMENTS = (
    "function_call_arguments",
    "custom_tool_call_input",
    "code_interpreter_call_code",
    "mcp_call_arguments",
)


class CallItem(Item):
    """A call. `field` is the field of the finished item with the arguments: a text as the model
    wrote it, or an object."""

    executor: Executor = "client"

    def __init__(self, output: Output, item: dict[str, Any], field: str) -> None:
        super().__init__(output, item)
        self.kind = as_text(item.get("type")) or "function_call"
        self._field = field
        # Other kinds come with the finished item alone, and so may the id to call them by.
        self._call = self._begin(item) if self.kind in _STREAMED else None

    def _begin(self, item: dict[str, Any]) -> Call:
        input: CallInput = "text" if self._field in _TEXT_FIELDS else "json"
        name = as_text(item.get("name")) or self._get_fixed_name()
        return self.output.add_call(
            call_id=as_text(item.get("call_id")) or (self.item_id if name else None),
            name=name,
            executor=self.executor,
            input=input,
            item_key=self,
            item_id=self.item_id,
            provider_data=self._collect_extra(item),
        )

    def _get_fixed_name(self) -> str | None:
        """Return the name of a tool that has an item type of its own; client tools have names."""
        return None if self.kind in _STREAMED else self.kind.removesuffix("_call")

    def _collect_extra(self, item: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the item must be sent back with, beyond the fields of a call."""
        extra = {
            name: value
            for name, value in item.items()
            if name not in _NAMED and name != self._field and value is not None
        }
        if self.kind != "function_call":
            extra["type"] = self.kind
        return extra or None

    @property
    def call(self) -> Call:
        """The call, which begins now if it has not yet."""
        if self._call is None:
            self._call = self._begin({"call_id": self.item_id})
        return self._call

    def feed(self, event: WireEvent) -> bool:
        noun, _, verb = (event.type or "").removeprefix("response.").rpartition(".")
        if noun not in _ARGUMENTS:
            return False
        if verb == "delta":
            self.output.add_args(self.call, as_text(event.delta) or "")
        elif verb == "done":
            self._write_once(event.arguments or event.input or event.code)
        return True

    def read_delta(self, event: PlainEvent) -> DeltaEvent | None:
        if event.type != "response.function_call_arguments.delta" or self._call is None:
            return None
        return self.output.extend_args(self._call, event.delta)

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        if self._call is None:
            self._call = self._begin(item)
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        self.output.fill_in_call(self._call, name=as_text(item.get("name")), call_id=call_id)
        written = self._to_json_text(item.get(self._field) or item.get(f"{self._field}s"))
        self._write_once(written)
        if self.call.size and not written:
            self.output.has_unconfirmed_call = True
        self.output.end_call(self.call)

    def abandon(self) -> None:
        """Keep an item that should have come complete but did not, as a call without arguments."""
        if self._call is None:
            self._call = self._begin(self._added)
            told = self._added.get(self._field) or self._added.get(f"{self._field}s")
            # Arguments that never came are no empty ones.
            self.output.add_args(self._call, self._to_json_text(told) or "{")
            # The event that was skipped may have been the one with the final arguments.
            self._call.is_damaged = self.output.has_gap

    def _to_json_text(self, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        return encode_json(value)

    def _write_once(self, written: str | None) -> None:
        if written and not self.call.size and self.call.state != "closed":
            self.output.add_args(self.call, written)
        if written:
            self.output.restore_args(self.call, written)


class ProviderCallItem(CallItem):
    """A call that the provider runs: its status comes in events of its own, and its result with the
    finished item."""

    executor: Executor = "provider"

    def __init__(self, output: Output, item: dict[str, Any], field: str) -> None:
        super().__init__(output, item, field)
        self._call = self._call or self._begin(item)

    def _collect_extra(self, item: dict[str, Any]) -> dict[str, Any] | None:
        return {"type": self.kind}

    def feed(self, event: WireEvent) -> bool:
        noun, _, verb = (event.type or "").removeprefix("response.").rpartition(".")
        if noun == self.kind:
            self.output.add_activity(self.call, verb, event.preview())
            return True
        return super().feed(event)

    def finish(self, item: dict[str, Any], as_written: str) -> None:
        super().finish(item, as_written)
        if self.kind == "mcp_approval_request":
            # The call waits for an answer: the item is kept, and is no result.
            server = {"server": as_text(item.get("server_label")) or ""}
            self.output.add_activity(self.call, APPROVAL_REQUESTED, server)
        kept = item
        image = as_text(item.get("result"))
        if image and self.kind == "image_generation_call":
            media_type = f"image/{as_text(item.get('output_format')) or 'png'}"
            self.output.add_media(media_type, data=image, item_key=self, item_id=self.item_id)
            kept = {name: value for name, value in item.items() if name != "result"}
        self.output.add_tool_output(
            self.call.call_id or "",
            _extract_content(item),
            is_error=item.get("status") == "failed" or bool(item.get("error")),
            item_key=self,
            item_id=self.item_id,
            provider_data={"item": kept},
        )

    def _to_json_text(self, value: Any) -> str | None:
        if self._field == "queries":
            value = {"queries": value}
        return super()._to_json_text(value)


def _extract_content(item: dict[str, Any]) -> tuple[Content, ...]:
    error = item.get("error")
    if error:
        message = as_text(error) or as_text(as_object(error).get("message"))
        return (TextContent(message) if message else JSONContent(error),)
    for name in ("output", "outputs", "results"):
        value = item.get(name)
        if isinstance(value, str):
            return (TextContent(value),)
        if value:
            return (JSONContent(value),)
    return ()

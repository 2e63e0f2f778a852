"""The Anthropic Messages dialect: content blocks from `message_start` to `message_stop`."""

from __future__ import annotations

from typing import Any

from headrace import outcome
from headrace.errors import LimitExceeded
from headrace.events import DeltaEvent
from headrace.outcome import FinishReason, other_reason
from headrace.wire.dialects.anthropic.block import Block
from headrace.wire.dialects.anthropic.event import WireEvent
from headrace.wire.dialects.anthropic.usage import AnthropicUsage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import is_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import REFUSED, encode_json, extract_field
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_FINISH_WORDS: dict[str, FinishReason] = {
    "end_turn": outcome.END_TURN,
    "tool_use": outcome.TOOL_USE,
    "max_tokens": outcome.MAX_TOKENS,
    "stop_sequence": outcome.STOP_SEQUENCE,
    "refusal": outcome.CONTENT_FILTER,
    "pause_turn": outcome.PAUSED,
    "compaction": outcome.PAUSED,
    "model_context_window_exceeded": outcome.CONTEXT_FULL,
}
_EVENTS = frozenset(
    "message_start content_block_start content_block_delta content_block_stop message_delta "
    "message_stop ping error".split()
)
_NOT_KEPT_OF_DELTA = frozenset({"stop_reason"})
_NOT_KEPT = frozenset({"type", "delta", "usage", "message", "index"})
_NOT_KEPT_OF_MESSAGE = frozenset(
    {"type", "id", "role", "model", "content", "stop_reason", "usage", "provider"}
)


class AnthropicDialect(JSONDialect[WireEvent]):
    """Reads the events of a Messages stream."""

    name = "anthropic"
    deltas = frozenset({"text", "thinking", "partial_json"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WireEvent, limits)
        self._max_blocks = limits.max_parts
        self._usage = AnthropicUsage()
        self._blocks: dict[int, Block] = {}
        self._message: Output | None = None

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be an event of this dialect; a ping is not."""
        kind = payload.get("type")
        if kind == "message":
            return isinstance(payload.get("content"), list) and "role" in payload
        if kind == "error":
            return "error" in payload
        return isinstance(kind, str) and kind in _EVENTS and kind != "ping"

    def feed(self, frame: Frame) -> None:
        """Read one event."""
        data = frame.data
        try:
            is_shallow = len(data) <= self._shallow_bytes
            event = self._decode_shallow(data) if is_shallow else self._decode_payload(frame)
        except REFUSED:
            event = self._decode_payload(frame)
        if event is None:
            return
        kind = event.type or frame.event
        if kind == "content_block_delta":
            delta = event.delta
            if delta is not None:
                block = self._blocks.get(event.index) or self._add_missing_block(event.index)
                if not block.feed(delta):
                    whole = as_object(self._decode_all_fields(frame).get("delta"))
                    block.merge(whole, len(data))
        elif kind == "content_block_start":
            self._start_block(frame, event)
        elif kind == "content_block_stop":
            self._stop_block(event.index)
        else:
            self._handle_message(kind, frame, event)

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a `content_block_delta` that only continues an open part."""
        if len(data) > self._shallow_bytes:
            return None
        try:
            read = self._decode_shallow(data)
        except REFUSED:
            return None
        delta = read.delta
        if delta is None or read.type != "content_block_delta":
            return None
        block = self._blocks.get(read.index)
        return None if block is None else block.read_delta(delta)

    # -- blocks

    def _add_missing_block(self, index: int) -> Block:
        block = self._blocks[index] = Block(self._output(), {"type": "text"}, "{}")
        return block

    def _start_block(self, frame: Frame, event: WireEvent) -> None:
        # A block whose number is taken again never got its stop.
        self._stop_block(event.index)
        # A block without words yet is no part that the ledger could count.
        if len(self._blocks) >= self._max_blocks:
            raise LimitExceeded("max_parts", self._max_blocks)
        block = event.content_block or {}
        as_written = extract_field(frame.data, "content_block") or encode_json(block)
        self._blocks[event.index] = Block(self._output(), block, as_written)

    def _stop_block(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        if block is not None:
            block.stop()

    def _output(self) -> Output:
        if self._message is None:
            self._message = self.ledger.output(0)
        return self._message

    # -- the message

    def _handle_message(self, kind: str, frame: Frame, event: WireEvent) -> None:
        match kind:
            case "message_start":
                self._start_message(event.message or {})
            case "message_delta":
                self._change_message(frame, event)
            case "message_stop":
                self.ledger.note_fields(self._decode_all_fields(frame), _NOT_KEPT)
                self._end(has_terminator=True)
            case "message":
                self._read_whole_message(self._decode_all_fields(frame))
            case _ if (
                kind == "error" or is_error(event.error) or "error" in (frame.event, frame.field)
            ):
                self.fail(parse_error(self._decode_all_fields(frame)))
            case "ping":
                pass
            case _:
                self._fail_if_error(frame)

    def _read_whole_message(self, message: dict[str, Any]) -> None:
        """Read an answer that came as a whole, as servers send it that do not stream."""
        self._start_message(message)
        self.ledger.note_fields(message, _NOT_KEPT_OF_MESSAGE)
        self._end(has_terminator=True)

    def _start_message(self, message: dict[str, Any]) -> None:
        """Start the message. A second start is another stream spliced in: its blocks count from 0
        again."""
        for index in list(self._blocks):
            self._stop_block(index)
        self.ledger.start(
            model=as_text(message.get("model")),
            response_id=as_text(message.get("id")),
            provider=as_text(message.get("provider")),
        )
        output = self._output()
        self._report(message.get("usage"))
        for block in as_objects(message.get("content")):
            Block(output, block, encode_json(block)).stop()
        self._finish(as_text(message.get("stop_reason")))

    def _change_message(self, frame: Frame, event: WireEvent) -> None:
        whole = self._decode_all_fields(frame)
        self._report(event.usage)
        self._finish(event.delta.stop_reason if event.delta else None)
        self.ledger.note_fields(whole, _NOT_KEPT)
        self.ledger.note_fields(as_object(whole.get("delta")), _NOT_KEPT_OF_DELTA)

    def _finish(self, word: str | None) -> None:
        if word:
            self._output().finish(_FINISH_WORDS.get(word) or other_reason(word), word)

    def _report(self, usage: Any) -> None:
        if as_object(usage):
            self.ledger.replace_usage(self._usage.feed(as_object(usage)))
            self.ledger.service_tier = self._usage.service_tier

    def _release(self) -> None:
        for block in self._blocks.values():
            block.abandon()
        self._blocks.clear()
        for name, value in self._usage.extras().items():
            self.ledger.note(name, value)

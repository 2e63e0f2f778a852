"""The Converse dialect: content blocks from `messageStart` to `metadata`."""

from __future__ import annotations

from typing import Any

from headrace import outcome
from headrace.errors import LimitExceeded
from headrace.events import DeltaEvent
from headrace.outcome import FinishReason, other_reason
from headrace.wire.dialects.bedrock.block import Block
from headrace.wire.dialects.bedrock.event import WireEvent, WrappedEvent
from headrace.wire.dialects.bedrock.usage import parse_usage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import find_exception
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import REFUSED, decoder_of, encode_json
from headrace.wire.json.value import as_object, as_text
from headrace.wire.ledger import Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_FINISH_WORDS: dict[str, FinishReason] = {
    "end_turn": outcome.END_TURN,
    "tool_use": outcome.TOOL_USE,
    "max_tokens": outcome.MAX_TOKENS,
    "stop_sequence": outcome.STOP_SEQUENCE,
    "guardrail_intervened": outcome.CONTENT_FILTER,
    "content_filtered": outcome.CONTENT_FILTER,
    "model_context_window_exceeded": outcome.CONTEXT_FULL,
}
_KINDS = {
    "messageStart": "message_start",
    "contentBlockStart": "content_block_start",
    "contentBlockDelta": "content_block_delta",
    "contentBlockStop": "content_block_stop",
    "messageStop": "message_stop",
    "metadata": "metadata",
}
# The event of a message of InvokeModel.
_CHUNK = "chunk"
# `p` is padding, which hides the length of the payload.
_NOT_KEPT = frozenset({"p", "usage", "serviceTier", "stopReason"})


class BedrockDialect(JSONDialect[WrappedEvent]):
    """Reads the events of ConverseStream. The kind of an event is in the headers of its message, or
    the only field of the payload."""

    name = "bedrock"
    deltas = frozenset({"text", "input"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WrappedEvent, limits)
        self._decode_event = decoder_of(WireEvent)
        self._max_blocks = limits.max_parts
        self._blocks: dict[int, Block] = {}
        self._message: Output | None = None
        self._has_reason = False

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be an event of this dialect."""
        if "contentBlockIndex" in payload or isinstance(payload.get("stopReason"), str):
            return True
        if payload and payload.keys() <= {"role", "p"}:
            return isinstance(payload.get("role"), str)
        return any(isinstance(payload.get(kind), dict) for kind in _KINDS if kind != "metadata")

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
        kind = frame.event
        if kind == "contentBlockDelta":
            self._feed_delta(frame, event)
        elif kind in _KINDS:
            self._feed_event(kind, frame, event)
        else:
            self._feed_wrapped(frame, event)

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a `contentBlockDelta` that only continues an open part."""
        if event != "contentBlockDelta" or len(data) > self._shallow_bytes:
            return None
        try:
            read = self._decode_event(data)
        except REFUSED:
            return None
        block = self._blocks.get(read.content_block_index)
        return None if block is None or read.delta is None else block.read_delta(read.delta)

    def _feed_wrapped(self, frame: Frame, event: WrappedEvent) -> None:
        """Read the event that a field of the payload names."""
        has_event = False
        for kind, field in _KINDS.items():
            inner: WireEvent | None = getattr(event, field)
            if inner is not None and not self.ledger.is_finished:
                has_event = True
                self._feed_event(kind, frame, inner)
        if not has_event and not self.ledger.is_finished:
            self._handle_other(frame)

    def _feed_event(self, kind: str, frame: Frame, event: WireEvent) -> None:
        match kind:
            case "contentBlockDelta":
                self._feed_delta(frame, event)
            case "contentBlockStart":
                self._start_block(frame, event)
            case "contentBlockStop":
                self._stop_block(event.content_block_index)
            case "messageStart":
                self._output(event.role)
            case "messageStop":
                self._finish(frame, event)
            case _:
                self._report(frame, event)

    def _handle_other(self, frame: Frame) -> None:
        """Handle a payload that is no event: an exception by name, or another error."""
        if "error" not in (frame.event, frame.field):
            error = find_exception(self._decode_all_fields(frame))
            if error is not None:
                self.fail(error)
                return
        self._fail_if_error(frame)

    # -- blocks

    def _feed_delta(self, frame: Frame, event: WireEvent) -> None:
        if event.delta is None:
            return
        index = event.content_block_index
        block = self._blocks.get(index) or self._add_block(frame, index, {})
        if not block.feed(event.delta, len(frame.data)):
            self._keep_unknown(frame)

    def _keep_unknown(self, frame: Frame) -> None:
        delta = as_object(self._find_event(frame, "contentBlockDelta").get("delta"))
        if any(delta.values()):
            self._output().add_opaque(next(iter(delta)), encode_json(delta))

    def _start_block(self, frame: Frame, event: WireEvent) -> None:
        # A block whose number is taken again never got its stop.
        self._stop_block(event.content_block_index)
        self._add_block(frame, event.content_block_index, event.start or {})

    def _add_block(self, frame: Frame, index: int, start: dict[str, Any]) -> Block:
        # A block without text yet is no part that the ledger could count.
        if len(self._blocks) >= self._max_blocks:
            raise LimitExceeded("max_parts", self._max_blocks)
        block = Block(self._output(), start, is_continued=frame.event == _CHUNK)
        self._blocks[index] = block
        return block

    def _stop_block(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        if block is not None:
            block.stop()

    # -- the message

    def _output(self, role: str | None = None) -> Output:
        if self._message is None:
            self._message = self.ledger.output(0, role or "assistant")
        return self._message

    def _finish(self, frame: Frame, event: WireEvent) -> None:
        word = event.stop_reason
        self.ledger.note_fields(self._find_event(frame, "messageStop"), _NOT_KEPT)
        if word:
            self._has_reason = True
            self._output().finish(_FINISH_WORDS.get(word) or other_reason(word), word)

    def _report(self, frame: Frame, event: WireEvent) -> None:
        """Take the usage. It is in the last event of a stream."""
        self.ledger.report(parse_usage(event.usage or {}))
        fields = self._find_event(frame, "metadata")
        self.ledger.note_fields(fields, _NOT_KEPT)
        tier = as_text(as_object(fields.get("serviceTier")).get("type"))
        self.ledger.service_tier = tier or self.ledger.service_tier
        if self._has_reason:
            self._end(has_terminator=True)

    def _find_event(self, frame: Frame, kind: str) -> dict[str, Any]:
        """Return all fields of an event. What InvokeModel adds beside it is among them."""
        payload = self._decode_all_fields(frame)
        if frame.event in _KINDS:
            return payload
        inner = as_object(payload.pop(kind, None))
        return {**payload, **inner}

    def _release(self) -> None:
        for block in self._blocks.values():
            block.abandon()
        self._blocks.clear()

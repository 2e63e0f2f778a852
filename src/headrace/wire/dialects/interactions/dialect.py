"""The Interactions dialect: steps from `interaction.created` to `interaction.completed`."""

from __future__ import annotations

from typing import Any

from headrace import outcome
from headrace.errors import LimitExceeded
from headrace.outcome import ErrorInfo, FinishReason, other_reason
from headrace.usage import Usage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.dialects.interactions.event import WireDelta, WireEvent
from headrace.wire.error import parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.number import parse_count
from headrace.wire.json.payload import encode_json, repair_surrogates
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Call, Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_STATUS_WORDS: dict[str, FinishReason] = {
    "completed": outcome.END_TURN,
    "requires_action": outcome.TOOL_USE,
    "incomplete": outcome.MAX_TOKENS,
}
_ERROR_STATUSES = frozenset({"failed", "cancelled"})
_EVENTS = frozenset(
    "interaction.created interaction.status_update interaction.completed step.start step.delta "
    "step.stop".split()
)
_NOT_KEPT = frozenset({"id", "model", "object", "status", "usage", "service_tier", "error"})
_KNOWN_STEPS = frozenset({"thought", "model_output", "function_call"})


class InteractionsDialect(JSONDialect[WireEvent]):
    """Reads the events of an interaction."""

    name = "interactions"
    deltas = frozenset({"text", "arguments"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WireEvent, limits)
        self._max_steps = limits.max_parts
        self._calls: dict[int, Call] = {}
        self._message: Output | None = None

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be an event of this dialect."""
        kind = payload.get("event_type")
        return isinstance(kind, str) and kind in _EVENTS

    def feed(self, frame: Frame) -> None:
        """Read one event."""
        event = self._decode_payload(frame)
        if event is None:
            return
        match event.event_type or frame.event:
            case "step.delta" if event.delta is not None:
                self._feed_delta(frame, event.index, event.delta)
            case "step.start":
                self._start_step(event.index, event.step or {})
            case "step.stop":
                self._stop_step(event.index)
            case "interaction.created":
                self._start(event.interaction or {})
            case "interaction.completed":
                self._complete(event.interaction or {})
            case kind if kind not in _EVENTS:
                self._fail_if_error(frame)
            case _:
                pass

    def _output(self) -> Output:
        if self._message is None:
            self._message = self.ledger.output(0)
        return self._message

    def _start(self, interaction: dict[str, Any]) -> None:
        self.ledger.start(
            model=as_text(interaction.get("model")), response_id=as_text(interaction.get("id"))
        )
        self._output()

    # -- steps

    def _start_step(self, index: int, step: dict[str, Any]) -> None:
        self._stop_step(index)
        kind = as_text(step.get("type")) or "unknown"
        if kind == "function_call":
            self._start_call(index, step)
        elif kind in ("thought", "model_output"):
            self._add_first(("step", index), repair_surrogates(step))
        elif kind not in _KNOWN_STEPS:
            self._output().add_opaque(kind, encode_json(step), item_id=as_text(step.get("id")))

    def _add_first(self, key: tuple[str, int], step: dict[str, Any]) -> None:
        """Add what a step begins with."""
        output = self._output()
        for entry in as_objects(step.get("summary")):
            output.add_reasoning(as_text(entry.get("text")) or "", key, key, "summary")
        if signature := as_text(step.get("signature")):
            output.sign(signature, key, key)
        for entry in as_objects(step.get("content")):
            text = as_text(entry.get("text"))
            if text:
                output.add_text(text, key, key)
            elif any(entry.values()):
                output.add_opaque(as_text(entry.get("type")) or "unknown", encode_json(entry))

    def _start_call(self, index: int, step: dict[str, Any]) -> None:
        if len(self._calls) >= self._max_steps:
            raise LimitExceeded("max_parts", self._max_steps)
        call_id, output = as_text(step.get("id")), self._output()
        call = output.add_call(call_id=call_id, name=as_text(step.get("name")), item_id=call_id)
        self._calls[index] = call
        if as_object(step.get("arguments")):
            output.add_args(call, encode_json(step["arguments"]))
        if signature := as_text(step.get("signature")):
            output.seal_call(call, "signature", signature)

    def _stop_step(self, index: int) -> None:
        call = self._calls.pop(index, None)
        if call is not None:
            self._output().end_call(call)
        elif self._message is not None:
            self._message.end_prose(("step", index))

    def _feed_delta(self, frame: Frame, index: int, delta: WireDelta) -> None:
        output, key = self._output(), ("step", index)
        match delta.type:
            case "text":
                output.add_text(delta.text or "", key, key)
            case "thought_summary":
                text = as_text((delta.content or {}).get("text")) or ""
                output.add_reasoning(text, key, key, "summary")
            case "thought_signature":
                if delta.signature:
                    output.sign(delta.signature, key, key)
            case "arguments_delta":
                self._add_args(index, delta.arguments or "")
            case kind:
                whole = as_object(self._decode_all_fields(frame).get("delta"))
                output.add_opaque(kind or "unknown", encode_json(whole))

    def _add_args(self, index: int, text: str) -> None:
        if not text:
            return
        if index not in self._calls:
            self._calls[index] = self._output().add_call(call_id=None, name=None)
        self._output().add_args(self._calls[index], text)

    # -- the end

    def _complete(self, interaction: dict[str, Any]) -> None:
        self._report(as_object(interaction.get("usage")))
        self.ledger.service_tier = as_text(interaction.get("service_tier"))
        self.ledger.note_fields(interaction, _NOT_KEPT)
        word = as_text(interaction.get("status"))
        if word in _ERROR_STATUSES:
            error = interaction.get("error")
            text = f"the interaction ended as {word}"
            self.fail(parse_error(error) if error else ErrorInfo("server", text, code=word))
            return
        if word:
            self._output().finish(_STATUS_WORDS.get(word) or other_reason(word), word)
        self._end(has_terminator=True)

    def _report(self, report: dict[str, Any]) -> None:
        thoughts = parse_count(report.get("total_thought_tokens"))
        answer = parse_count(report.get("total_output_tokens"))
        is_known = thoughts is not None or answer is not None
        self.ledger.report(
            Usage(
                input_tokens=parse_count(report.get("total_input_tokens")),
                output_tokens=(thoughts or 0) + (answer or 0) if is_known else None,
                total_tokens=parse_count(report.get("total_tokens")),
                reasoning_tokens=thoughts,
                cached_input_tokens=parse_count(report.get("total_cached_tokens")),
            )
        )

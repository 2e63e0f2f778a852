"""The Cohere dialect: from `message-start` to `message-end`, and version 1 to `stream-end`."""

from __future__ import annotations

from typing import Any

from headrace import outcome
from headrace.errors import LimitExceeded
from headrace.outcome import ErrorCategory, ErrorInfo, FinishReason, other_reason
from headrace.wire.dialects.cohere.citation import create_citations
from headrace.wire.dialects.cohere.event import WireCall, WireContent, WireEvent, WireMessage
from headrace.wire.dialects.cohere.usage import parse_usage
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import find_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import REFUSED, encode_json, repair_surrogates
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Call, Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

TOOL_PLAN = {"type": "tool_plan"}
"""`provider_data` of reasoning that is the plan for the calls after it."""
_FINISH_WORDS: dict[str, FinishReason] = {
    "COMPLETE": outcome.END_TURN,
    "TOOL_CALL": outcome.TOOL_USE,
    "MAX_TOKENS": outcome.MAX_TOKENS,
    "STOP_SEQUENCE": outcome.STOP_SEQUENCE,
    "ERROR_TOXIC": outcome.CONTENT_FILTER,
    "ERROR_LIMIT": outcome.CONTEXT_FULL,
}
_ERROR_WORDS = frozenset({"ERROR", "TIMEOUT"})
_EVENTS = frozenset(
    "message-start content-start content-delta content-end tool-plan-delta tool-call-start "
    "tool-call-delta tool-call-end citation-start citation-end message-end".split()
)
_FIRST_EVENTS = frozenset(
    "stream-start text-generation search-queries-generation search-results citation-generation "
    "tool-calls-chunk tool-calls-generation stream-end".split()
)
_NOT_KEPT = frozenset({"type", "delta", "finish_reason", "usage", "error", "id"})
_NOT_KEPT_OF_RESPONSE = frozenset(
    "response_id generation_id text chat_history finish_reason meta citations tool_calls documents "
    "generations prompt id search_queries search_results message_id".split()
)


class CohereDialect(JSONDialect[WireEvent]):
    """Reads the events of a chat."""

    name = "cohere"
    deltas = frozenset({"text", "thinking", "tool_plan", "arguments"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WireEvent, limits)
        self._max_blocks = limits.max_parts
        self._calls: dict[int, Call] = {}
        self._message: Output | None = None
        self._has_plan = False

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be an event of this dialect."""
        kind, first_kind = payload.get("type"), payload.get("event_type")
        if isinstance(kind, str) and kind in _EVENTS:
            return True
        return isinstance(first_kind, str) and first_kind in _FIRST_EVENTS

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
        if event.event_type is not None:
            self._feed_first_version(frame, event)
            return
        message = event.delta.message if event.delta is not None else None
        if event.type == "content-delta" and message is not None:
            self._add_content(message, event.index)
        else:
            self._feed_event(event.type or frame.event, frame, event, message or WireMessage())

    def _output(self) -> Output:
        if self._message is None:
            self._message = self.ledger.output(0)
        return self._message

    # -- version 2

    def _feed_event(self, kind: str, frame: Frame, event: WireEvent, message: WireMessage) -> None:
        match kind:
            case "tool-call-delta":
                self._add_args(message, event.index)
            case "tool-plan-delta":
                self._add_plan(message.tool_plan)
            case "content-start":
                self._add_content(message, event.index)
            case "content-end":
                self._output().end_prose(("content", event.index))
            case "tool-call-start":
                self._start_call(message, event.index)
            case "tool-call-end":
                self._end_call(event.index)
            case "citation-start":
                self._cite(as_object(message.citations))
            case "message-start":
                self.ledger.start(response_id=event.id)
                self._message = self.ledger.output(0, message.role or "assistant")
            case "message-end":
                self._end_message(frame, event)
            case _ if kind not in _EVENTS:
                self._fail_if_error(frame)
            case _:
                pass

    def _add_content(self, message: WireMessage, index: int) -> None:
        content, output = message.content, self._output()
        if not isinstance(content, WireContent):
            return
        key = ("content", index)
        if content.thinking:
            output.add_reasoning(content.thinking, key, key)
        if content.text:
            output.add_text(content.text, key, key)

    def _add_plan(self, text: str | None) -> None:
        if text:
            self._has_plan = True
            self._output().add_reasoning(text, "plan", "plan", provider_data=TOOL_PLAN)

    def _start_call(self, message: WireMessage, index: int) -> None:
        if len(self._calls) >= self._max_blocks:
            raise LimitExceeded("max_parts", self._max_blocks)
        self._end_call(index)
        called = message.tool_calls if isinstance(message.tool_calls, WireCall) else WireCall()
        function = called.function
        self._calls[index] = self._output().add_call(
            call_id=called.id, name=function.name if function else None, item_id=called.id
        )
        self._add_args(message, index)

    def _add_args(self, message: WireMessage, index: int) -> None:
        called = message.tool_calls
        function = called.function if isinstance(called, WireCall) else None
        text = function.arguments if function else None
        if not text:
            return
        if index not in self._calls:
            self._calls[index] = self._output().add_call(call_id=None, name=None)
        self._output().add_args(self._calls[index], text)

    def _end_call(self, index: int) -> None:
        call = self._calls.pop(index, None)
        if call is not None:
            self._output().end_call(call)

    def _cite(self, citation: dict[str, Any]) -> None:
        if citation:
            output = self._output()
            for entry in create_citations(output.last_text_part, repair_surrogates(citation)):
                output.cite(entry)

    def _end_message(self, frame: Frame, event: WireEvent) -> None:
        whole = self._decode_all_fields(frame)
        delta = as_object(whole.get("delta"))
        self.ledger.report(parse_usage(as_object(delta.get("usage"))))
        self.ledger.note_fields(delta, _NOT_KEPT)
        billed = as_object(as_object(delta.get("usage")).get("billed_units"))
        if billed:
            self.ledger.note("billed_units", billed)
        self._finish(as_text(delta.get("finish_reason")), delta.get("error"))

    def _finish(self, word: str | None, error: Any = None) -> None:
        """End the turn. A reason that means an error is one, whether or not a message says why."""
        if word in _ERROR_WORDS or error:
            found = parse_error(error) if error else None
            category: ErrorCategory = "timeout" if word == "TIMEOUT" else "server"
            text = found.message if found else f"the provider ended the stream with {word!r}"
            self.fail(ErrorInfo(category, text, code=word, retryable=True))
            return
        if word:
            self._output().finish(_FINISH_WORDS.get(word) or other_reason(word), word)
        self._end(has_terminator=True)

    # -- version 1

    def _feed_first_version(self, frame: Frame, event: WireEvent) -> None:
        match event.event_type:
            case "text-generation":
                self._output().add_text(event.text or "")
            case "stream-start":
                self.ledger.start(response_id=event.generation_id)
                self._output()
            case "tool-calls-chunk":
                self._add_plan(event.text)
            case "tool-calls-generation":
                if not self._has_plan:
                    self._add_plan(event.text)
                for call in event.tool_calls or ():
                    self._add_whole_call(call)
            case "citation-generation":
                for citation in event.citations or ():
                    self._cite(citation)
            case "search-results":
                self.ledger.note("documents", event.documents)
            case "stream-end":
                self._end_stream(event)
            case _:
                self._handle_other(frame)

    def _handle_other(self, frame: Frame) -> None:
        error = find_error(self._decode_all_fields(frame))
        if error is not None:
            self.fail(error)

    def _add_whole_call(self, entry: dict[str, Any]) -> None:
        output = self._output()
        call = output.add_call(call_id=as_text(entry.get("id")), name=as_text(entry.get("name")))
        output.add_args(call, encode_json(as_object(entry.get("parameters"))))
        output.end_call(call)

    def _end_stream(self, event: WireEvent) -> None:
        response = event.response or {}
        self.ledger.report(parse_usage(as_object(response.get("meta"))))
        self.ledger.note_fields(response, _NOT_KEPT_OF_RESPONSE)
        generations = as_objects(response.get("generations"))
        told = [response, *generations]
        found = (as_text(entry.get("finish_reason")) for entry in told)
        word = event.finish_reason or next((word for word in found if word), None)
        self._finish(word)

    def _release(self) -> None:
        self._calls.clear()

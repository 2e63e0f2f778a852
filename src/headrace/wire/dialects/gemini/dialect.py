"""The Gemini dialect: whole responses one after the other, each with a piece of every candidate."""

from __future__ import annotations

from typing import Any

from headrace.events import DeltaEvent
from headrace.outcome import CONTENT_FILTER
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.dialects.gemini.candidate import Candidate
from headrace.wire.dialects.gemini.response import PlainResponse, WireCandidate, WireResponse
from headrace.wire.dialects.gemini.usage import GeminiUsage
from headrace.wire.error import is_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import REFUSED, decoder_of
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Ledger
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits


class GeminiDialect(JSONDialect[WireResponse]):
    """Reads the chunks of a Gemini stream. It has no terminator: a finish reason and the end of the
    bytes end it."""

    name = "gemini"
    deltas = frozenset({"text", "stringValue"})

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WireResponse, limits)
        self._decode_plain = decoder_of(PlainResponse)
        self._usage = GeminiUsage()
        self._candidates: dict[int, Candidate] = {}

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be a chunk of this dialect."""
        return (
            isinstance(payload.get("candidates"), list)
            or "promptFeedback" in payload
            or "usageMetadata" in payload
        )

    def feed(self, frame: Frame) -> None:
        """Read one chunk."""
        data = frame.data
        try:
            is_shallow = len(data) <= self._shallow_bytes
            response = self._decode_shallow(data) if is_shallow else self._decode_payload(frame)
        except REFUSED:
            response = self._decode_payload(frame)
        if response is None:
            return
        if not self.ledger.is_started:
            self._start(response)
        if response.candidates:
            for wire in response.candidates:
                candidate = self._candidates.get(wire.index) or self._begin(wire.index)
                candidate.feed(wire, frame)
                if wire.finish_reason or wire.grounding_metadata or wire.url_context_metadata:
                    self._note(wire)
        if response.usage_metadata is not None:
            self._usage.feed(response.usage_metadata)
            self.ledger.report_later(self._usage.total)
        if response.prompt_feedback:
            self._handle_blocked_prompt(response.prompt_feedback)
        if not response.candidates:
            self._handle_no_candidates(frame, response)
        elif is_error(response.error) or frame.event == "error":
            self.fail(parse_error(response.error or self._decode_all_fields(frame)))

    def read_delta(self, data: bytes, event: str) -> DeltaEvent | None:
        """Return the event of a chunk with one more piece of text or reasoning."""
        if len(data) > self._shallow_bytes:
            return None
        try:
            response = self._decode_plain(data)
        except REFUSED:
            return None
        if len(response.candidates) != 1:
            return None
        wire = response.candidates[0]
        candidate = self._candidates.get(wire.index)
        if candidate is None or len(wire.content.parts) != 1:
            return None
        part = wire.content.parts[0]
        output = candidate.output
        made = output.extend_reasoning(part.text) if part.thought else output.extend_text(part.text)
        if made is not None and response.usage_metadata is not None:
            self._usage.feed(response.usage_metadata)
            self.ledger.report_later(self._usage.total)
        return made

    def _start(self, response: WireResponse) -> None:
        """Start the turn with the first chunk that says anything; an empty one may come before."""
        if response != WireResponse():
            self.ledger.start(model=response.model_version, response_id=response.response_id)

    def _handle_no_candidates(self, frame: Frame, response: WireResponse) -> None:
        """Look for an error in a chunk without content."""
        if response.usage_metadata is None and not response.prompt_feedback:
            self._fail_if_error(frame)
        elif is_error(response.error) or frame.event == "error":
            self.fail(parse_error(response.error or self._decode_all_fields(frame)))

    def _release(self) -> None:
        self.ledger.service_tier = self._usage.service_tier
        for name, value in self._usage.extras().items():
            self.ledger.note(name, value)
        for candidate in self._candidates.values():
            candidate.close()

    def _begin(self, index: int) -> Candidate:
        candidate = Candidate(self.ledger.output(index), self._decode_raw_parts)
        self._candidates[index] = candidate
        return candidate

    def _handle_blocked_prompt(self, feedback: dict[str, Any]) -> None:
        """End the turn, because the prompt was rejected and no candidate will come."""
        why = as_text(feedback.get("blockReason"))
        if why:
            self.ledger.note("promptFeedback", feedback)
            self.ledger.output(0).finish(CONTENT_FILTER, why)

    def _decode_raw_parts(self, frame: Frame, index: int) -> list[dict[str, Any]]:
        """Return all parts of a candidate as they came, so that none is lost."""
        for told in as_objects(self._decode_all_fields(frame).get("candidates")):
            if (told.get("index") or 0) == index:
                return as_objects(as_object(told.get("content")).get("parts"))
        return []

    def _note(self, wire: WireCandidate) -> None:
        if wire.grounding_metadata:
            self.ledger.note("groundingMetadata", wire.grounding_metadata)
        if wire.url_context_metadata:
            self.ledger.note("urlContextMetadata", wire.url_context_metadata)
        if wire.finish_message:
            self.ledger.note("finishMessage", wire.finish_message)

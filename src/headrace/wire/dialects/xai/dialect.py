"""The xAI dialect: `GetChatCompletionChunk`, as protocol buffers or as their JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import msgspec

from headrace.events import OutputsKind
from headrace.outcome import ErrorInfo
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.dialects.xai import chunk as tables
from headrace.wire.dialects.xai.calls import XAICalls
from headrace.wire.dialects.xai.chunk import WireChunk, WireOutput, WireTimestamp
from headrace.wire.dialects.xai.citation import XAISources
from headrace.wire.dialects.xai.output import NO_REASON, XAIOutput, XAIToolOutput
from headrace.wire.dialects.xai.usage import XAIUsage
from headrace.wire.error import is_error, parse_error
from headrace.wire.framing.frame import Frame
from headrace.wire.json.payload import NotJSON, parse
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Ledger
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits
from headrace.wire.protobuf import NotProtobuf, ProtobufReader, read_json

_ROLES = {
    "ROLE_USER": "user",
    "ROLE_SYSTEM": "system",
    "ROLE_DEVELOPER": "developer",
    "ROLE_TOOL": "tool",
    "ROLE_FUNCTION": "tool",
}
_LAST_SECOND = 253_402_300_799 - 3  # the end of the year 9999
_NO_ROLE = "INVALID_ROLE"
_NO_TIER = "SERVICE_TIER_UNSPECIFIED"


class XAIDialect(JSONDialect[WireChunk]):
    """Reads the chunks of an xAI stream.

    The stream has no terminator: the end is the finish reason of the last step, together with the
    end of the bytes. Outputs are the successive steps of an agent, unless the caller says that they
    are candidates, or the first chunk shows it by holding several. `is_outputs_kind_given` tells
    whether the caller has said which.
    """

    name = "xai"
    only_framing = "grpc"
    decoder_options = ("keeps_logprobs", "is_outputs_kind_given")
    outputs: ClassVar[OutputsKind] = "successive"

    def __init__(
        self,
        ledger: Ledger,
        *,
        keeps_logprobs: bool = False,
        is_outputs_kind_given: bool = False,
        limits: WireLimits = DEFAULT_WIRE_LIMITS,
    ) -> None:
        super().__init__(ledger, WireChunk, limits)
        self._is_outputs_kind_given = is_outputs_kind_given
        self._keeps_logprobs = keeps_logprobs
        self._read = ProtobufReader(limits.max_parts).read
        self._chunk = tables.CHUNK_WITH_LOGPROBS if keeps_logprobs else tables.CHUNK
        self._json_chunk = self._chunk
        self._head = WireChunk()
        self._is_introduced = False
        self._is_failing = False
        self._is_created_known = False
        self._usage = XAIUsage()
        self._sources = XAISources(ledger)
        self._calls = XAICalls(limits.max_depth)
        self._outputs: dict[int, XAIOutput] = {}
        # Outputs that had content since the last one began, and those without content or role.
        self._heard: dict[int, XAIOutput] = {}
        self._speaker: XAIOutput | None = None
        self._silent: dict[int, None] = {}
        self._max_outputs = limits.max_outputs
        self._logprobs: dict[str, list[Any]] = {}

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be a chunk of this dialect."""
        if "choices" in payload or "type" in payload:
            return False
        return any(
            "delta" in output or "index" in output for output in as_objects(payload.get("outputs"))
        )

    def feed(self, frame: Frame) -> None:
        """Read one chunk."""
        data = frame.data
        if data[:1] == b"{":
            # As protobuf this byte would open a group in field 15, which no chunk does.
            self._feed_json(frame)
            return
        try:
            chunk = self._read(data, self._chunk)
        except NotProtobuf:
            self._feed_other(frame)
            return
        self._feed_chunk(chunk)

    def _feed_other(self, frame: Frame) -> None:
        """Take a frame that is no chunk: JSON after blanks, the terminator of a recording, or
        garbage."""
        if frame.data.lstrip()[:1] == b"{":
            self._feed_json(frame)
        else:
            self._handle_unreadable(frame, "neither a chunk nor JSON")

    def _feed_json(self, frame: Frame) -> None:
        try:
            payload = as_object(parse(frame.data, self._max_depth))
        except NotJSON as error:
            self._handle_unreadable(frame, str(error))
            return
        created = as_text(payload.get("created"))
        if created is not None and not self._is_created_known:
            self._note_created(created)
        self._feed_chunk(read_json(payload, self._json_chunk))
        if not payload.get("outputs"):
            self._fail_if_error(frame)
        elif is_error(payload.get("error")) or "error" in (frame.event, frame.field):
            self.fail(parse_error(payload))

    def _feed_chunk(self, chunk: WireChunk) -> None:
        # Before the outputs, since one of them may end the turn with an error.
        if chunk.usage is not None:
            self._usage.feed(chunk.usage)
            self.ledger.report_later(self._usage.total)
        outputs = chunk.outputs
        if not self._is_introduced:
            self._introduce(chunk)
        if outputs is not None:
            for wire in outputs:
                output = self._outputs.get(wire.index or 0)
                if output is None:
                    output = self._begin(wire)
                    if output is None:
                        continue
                if output is not self._speaker:
                    self._speaker = self._heard[wire.index or 0] = output
                if wire.delta is not None:
                    output.feed(wire.delta)
                if wire.finish_reason is not None:
                    output.end(wire.finish_reason)
                if wire.logprobs is not None:
                    kept = self._logprobs.setdefault(str(wire.index or 0), [])
                    kept.append(msgspec.to_builtins(wire.logprobs))
        if (
            chunk.citations
            or chunk.output_files
            or chunk.service_tier
            or chunk.system_fingerprint
            or chunk.debug_output is not None
        ):
            self._handle_rare(chunk)

    # -- the turn and its outputs

    def _introduce(self, chunk: WireChunk) -> None:
        """Start the turn with the first output. What chunks repeat is read until it is known."""
        head = self._head
        head.id = head.id or chunk.id
        head.model = head.model or chunk.model
        head.system_fingerprint = head.system_fingerprint or chunk.system_fingerprint
        if chunk.created is not None and chunk.created.seconds and not self._is_created_known:
            self._note_created(_format_time(chunk.created))
        if chunk.outputs and not self.ledger.is_started:
            self._start(chunk.outputs)
        if self.ledger.is_started and head.id and head.model and head.system_fingerprint:
            self._is_introduced = True
            keeps = self._keeps_logprobs
            self._chunk = tables.LATER_CHUNK_WITH_LOGPROBS if keeps else tables.LATER_CHUNK

    def _note_created(self, time: str) -> None:
        """Keep when the first chunk was made, as the JSON of xAI writes it."""
        self._is_created_known = True
        self.ledger.note("created", time)

    def _start(self, outputs: list[WireOutput]) -> None:
        kind: OutputsKind | None = None
        speakers = {wire.index for wire in outputs if _parse_role(wire) == "assistant"}
        if len(speakers) > 1 and not self._is_outputs_kind_given:
            # Steps come one after the other: two that begin together are alternatives.
            kind = "candidates"
        self.ledger.start(model=self._head.model, response_id=self._head.id, outputs=kind)
        self._calls.is_shared = self.ledger.outputs_kind == "successive"

    def _begin(self, wire: WireOutput) -> XAIOutput | None:
        """Begin an output when it has content; until then its role may still come, and None is
        returned. Outputs begin in the order in which they appeared."""
        number = wire.index or 0
        if _is_silent(wire) and len(self._silent) < self._max_outputs:
            self._silent.setdefault(number)
            return None
        for earlier in list(self._silent):
            del self._silent[earlier]
            if earlier == number:
                break
            self._open(earlier, "assistant")
        return self._open(number, _parse_role(wire))

    def _open(self, number: int, role: str) -> XAIOutput:
        if self.ledger.outputs_kind == "successive":
            for earlier in self._heard.values():
                earlier.pause()
            self._heard.clear()
            self._speaker = None
        kind = XAIToolOutput if role == "tool" else XAIOutput
        output = kind(self.ledger.output(number, role), self._calls, self._sources)
        self._outputs[number] = output
        return output

    def fail(self, error: ErrorInfo) -> None:
        """End the turn with an error, after stating what was held back."""
        self._is_failing = True
        super().fail(error)

    def _release(self) -> None:
        self.ledger.start(model=self._head.model, response_id=self._head.id)
        for number in list(self._silent):
            del self._silent[number]
            self._open(number, "assistant")
        is_cut = self._is_failing or not self.ledger.is_end_known()
        for output in self._outputs.values():
            output.release(is_cut=is_cut)
        for name, value in self._usage.extras().items():
            self.ledger.note(name, value)
        if self._logprobs:
            self.ledger.note("logprobs", self._logprobs)

    # -- outside the outputs

    def _handle_rare(self, chunk: WireChunk) -> None:
        if chunk.citations:
            self._sources.feed(chunk.citations)
        if chunk.output_files:
            self.ledger.note("output_files", msgspec.to_builtins(chunk.output_files))
        if chunk.debug_output is not None and (debug := msgspec.to_builtins(chunk.debug_output)):
            self.ledger.note("debug_output", debug)
        if chunk.system_fingerprint:
            self.ledger.note("system_fingerprint", chunk.system_fingerprint)
        if chunk.service_tier and chunk.service_tier != _NO_TIER:
            self.ledger.service_tier = chunk.service_tier.removeprefix("SERVICE_TIER_").lower()


def _format_time(time: WireTimestamp) -> str:
    """Return a time in RFC 3339, in UTC."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        seconds=min(max(time.seconds or 0, 0), _LAST_SECOND), microseconds=(time.nanos or 0) // 1000
    )
    return at.isoformat().replace("+00:00", "Z")


def _parse_role(wire: WireOutput) -> str:
    """Return the role of an output; without one it is the assistant."""
    told = wire.delta.role if wire.delta is not None else None
    return _ROLES.get(told or "", "assistant")


def _is_silent(wire: WireOutput) -> bool:
    """Return whether an output has neither a role nor content."""
    delta = wire.delta
    if wire.finish_reason not in (None, NO_REASON) or wire.logprobs is not None:
        return False
    return delta is None or not (
        (delta.role and delta.role != _NO_ROLE)
        or delta.content
        or delta.reasoning_content
        or delta.tool_calls
        or delta.encrypted_content
        or delta.citations
    )

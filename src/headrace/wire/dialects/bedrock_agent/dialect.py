"""The Bedrock agent dialect: chunks of text, traces, files, and calls that the caller runs."""

from __future__ import annotations

import binascii
import codecs
from base64 import b64decode
from typing import Any

import msgspec

from headrace.outcome import TOOL_USE, other_reason
from headrace.usage import Usage
from headrace.wire.dialects.bedrock_agent.call import create_arguments, find_name, find_request
from headrace.wire.dialects.bedrock_agent.citation import create_citations
from headrace.wire.dialects.dialect import JSONDialect
from headrace.wire.error import find_exception
from headrace.wire.framing.frame import BYTES, CUT, Frame
from headrace.wire.json.number import parse_count
from headrace.wire.json.payload import NotJSON, encode_json, repair_surrogates
from headrace.wire.json.value import as_object, as_objects, as_text
from headrace.wire.ledger import Ledger, Output
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_KINDS = ("chunk", "trace", "returnControl", "files")
_TEXT = "text"
_MEDIA = ("image/", "audio/", "video/")


class WirePayload(msgspec.Struct, gc=False):
    """A payload is read as a whole, because traces are kept as they come."""


class BedrockAgentDialect(JSONDialect[WirePayload]):
    """Reads the events of InvokeAgent and InvokeInlineAgent. The kind of an event is in the headers
    of its message, or the only field of the payload. No event says that the answer is complete: the
    end of the bytes is its end."""

    name = "bedrock-agent"

    def __init__(self, ledger: Ledger, *, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        super().__init__(ledger, WirePayload, limits)
        # Chunks may cut a character.
        self._decode_text = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._usage = Usage()
        self._has_answer = False
        self._has_calls = False
        self._is_cut = False

    @staticmethod
    def recognizes(payload: dict[str, Any]) -> bool:
        """Return whether a payload can only be an event of this dialect."""
        if isinstance(payload.get("trace"), dict):
            is_trace = "agentId" in payload or "sessionId" in payload
            return is_trace or isinstance(payload["trace"].get("trace"), dict)
        if isinstance(payload.get("attribution"), dict) and "bytes" in payload:
            return True
        control = as_object(payload.get("returnControl")) or payload
        if isinstance(control.get("invocationInputs"), list):
            return True
        chunk, files = as_object(payload.get("chunk")), as_object(payload.get("files"))
        return isinstance(chunk.get("bytes"), str) or isinstance(files.get("files"), list)

    @staticmethod
    def recognizes_text(frame: Frame) -> bool:
        """Return whether a frame is a chunk of text. Models send only JSON objects in theirs."""
        return frame.field == BYTES

    def feed(self, frame: Frame) -> None:
        """Read one event."""
        if frame.field == BYTES:
            self._add_text(frame.data)
            return
        try:
            payload = self._decode_all_fields(frame)
        except NotJSON as error:
            self._is_cut = frame.field == CUT
            self._handle_unreadable(frame, str(error))
            return
        if frame.event in _KINDS:
            self._feed_event(frame.event, payload, frame)
            return
        events = [kind for kind in _KINDS if isinstance(payload.get(kind), dict)]
        for kind in events:
            self._feed_event(kind, payload[kind], frame)
        if not events:
            self._handle_other(payload, frame)

    def _handle_other(self, payload: dict[str, Any], frame: Frame) -> None:
        """Handle a payload that is no event: an exception by name, or another error."""
        is_marked = "error" in (frame.event, frame.field)
        error = None if is_marked else find_exception(payload)
        if error is not None:
            self.fail(error)
        elif payload:
            self._fail_if_error(frame)
        else:
            self._handle_empty(frame)

    def _feed_event(self, kind: str, event: dict[str, Any], frame: Frame) -> None:
        match kind:
            case "chunk":
                self._feed_chunk(event, frame)
            case "trace":
                self._feed_trace(event)
            case "returnControl":
                self._feed_calls(event)
            case _:
                self._feed_files(event)

    # -- the answer

    def _output(self) -> Output:
        return self.ledger.output(0)

    def _add_text(self, data: bytes) -> None:
        self._has_answer = True
        self._output().add_text(self._decode_text(data), _TEXT, _TEXT)

    def _feed_chunk(self, chunk: dict[str, Any], frame: Frame) -> None:
        encoded = chunk.get("bytes")
        if isinstance(encoded, str):
            try:
                self._add_text(b64decode(encoded, validate=True))
            except (binascii.Error, ValueError):
                self.ledger.skip_frame(frame.data, "the bytes of a chunk are no base64")
        attribution = repair_surrogates(as_object(chunk.get("attribution")))
        output = self._output()
        for citation in as_objects(attribution.get("citations")):
            for added in create_citations(output.find_part(_TEXT), citation):
                output.cite(added)

    def _feed_files(self, event: dict[str, Any]) -> None:
        for file in as_objects(event.get("files")):
            kind, data = as_text(file.get("type")) or "", as_text(file.get("bytes"))
            if data and kind.startswith(_MEDIA):
                self._output().add_media(kind, data=data)
            else:
                self._output().add_opaque("file", encode_json(file))

    def _feed_calls(self, event: dict[str, Any]) -> None:
        """Add the calls that the caller shall run. They share an id, to which all but the first add
        a number."""
        shared_id, output = as_text(event.get("invocationId")), self._output()
        for number, entry in enumerate(as_objects(event.get("invocationInputs"))):
            request = find_request(repair_surrogates(entry))
            call = output.add_call(
                call_id=f"{shared_id}-{number}" if shared_id and number else shared_id,
                name=find_name(request),
                provider_data=request,
            )
            output.add_args(call, encode_json(create_arguments(request, self._max_depth)))
            output.end_call(call)
            self._has_answer = self._has_calls = True

    # -- traces

    def _feed_trace(self, event: dict[str, Any]) -> None:
        """Keep a trace as it is, and count the tokens of the model that it reports."""
        steps = [as_object(step) for step in as_object(event.get("trace")).values()]
        sent = [as_object(step.get("modelInvocationInput")) for step in steps]
        models = [as_text(entry.get("foundationModel")) for entry in sent]
        self.ledger.start(model=next(filter(None, models), None))
        for step in steps:
            metadata = as_object(as_object(step.get("modelInvocationOutput")).get("metadata"))
            self._report(as_object(metadata.get("usage")))
        self._output().add_opaque("trace", encode_json(event))

    def _report(self, report: dict[str, Any]) -> None:
        """Add a report to the usage: an agent asks its model several times."""
        more_input = parse_count(report.get("inputTokens"))
        more_output = parse_count(report.get("outputTokens"))
        if more_input is not None or more_output is not None:
            self._usage = Usage(
                input_tokens=(self._usage.input_tokens or 0) + (more_input or 0),
                output_tokens=(self._usage.output_tokens or 0) + (more_output or 0),
            )
            self.ledger.replace_usage(self._usage)

    # -- the end

    def close(self) -> None:
        """Take the end of the bytes, which is the end of an answer that has begun."""
        if self._has_answer and not self._is_cut and not self.ledger.skipped_frames:
            self._output().finish(TOOL_USE if self._has_calls else other_reason(""), None)
        super().close()

    def _release(self) -> None:
        rest = self._decode_text(b"", final=True)
        if rest:
            self._output().add_text(rest, _TEXT, _TEXT)

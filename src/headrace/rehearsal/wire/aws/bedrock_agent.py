"""Writes streams of Bedrock agents: chunks of text, and calls that the caller runs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.rehearsal.script import Call, Error
from headrace.rehearsal.wire.aws.message import write_event, write_exception
from headrace.rehearsal.wire.payload_writer import PayloadWriter
from headrace.rehearsal.wire.words import aws_error


class BedrockAgentWriter(PayloadWriter):
    """Writes one turn as chunks. There is neither reasoning nor a finish reason; the usage is in a
    trace."""

    dialect = "bedrock-agent"
    _has_answer = False

    def begin(self) -> Iterable[bytes]:
        usage = {
            "inputTokens": self._usage.input_tokens,
            "outputTokens": self._usage.output_tokens,
        }
        output = {"metadata": {"usage": usage}}
        trace = {"orchestrationTrace": {"modelInvocationOutput": output}}
        yield write_event("trace", {"sessionId": f"session_{self._name}", "trace": trace})

    def write_text(self, piece: str) -> Iterable[bytes]:
        self._has_answer = True
        yield write_event("chunk", {"bytes": b64encode(piece.encode()).decode()})

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        function = {"actionGroup": "scripted", "function": line.name}
        parameters = [_create_parameter(*item) for item in _parse_arguments(line.raw).items()]
        inputs = [{"functionInvocationInput": {**function, "parameters": parameters}}]
        yield write_event("returnControl", {"invocationId": call_id, "invocationInputs": inputs})

    def write_finish(self, reason: str) -> Iterable[bytes]:
        """Write an empty chunk if there is no answer yet."""
        return () if self._has_answer or self._calls else self.write_text("")

    def fail(self, line: Error) -> Iterable[bytes]:
        yield write_exception(*aws_error(line.category, line.message))


def _parse_arguments(raw: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any]) if raw else {}
    except msgspec.DecodeError:
        return {}


def _create_parameter(name: str, value: Any) -> dict[str, Any]:
    if value is None or isinstance(value, str):
        return {"name": name, "type": "string", "value": value}
    kinds = {"bool": "boolean", "int": "integer", "float": "number", "list": "array"}
    kind = kinds.get(value.__class__.__name__, "object")
    return {"name": name, "type": kind, "value": msgspec.json.encode(value).decode()}

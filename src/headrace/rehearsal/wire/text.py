"""Writes text streams in the shape of Anthropic's legacy completions."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.errors import UsageError
from headrace.rehearsal.script import Call
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter


class TextWriter(PayloadWriter):
    """Writes one turn as pieces of text. There is neither reasoning nor a call."""

    dialect = "text"
    reasons = {"end_turn": "stop"}

    def write_text(self, piece: str) -> Iterable[bytes]:
        yield self._write_piece(piece)

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        raise UsageError("the text dialect has no calls")

    def write_finish(self, reason: str) -> Iterable[bytes]:
        yield self._write_piece("", reason)

    def _write_piece(self, text: str, reason: str | None = None) -> bytes:
        payload: JSONObject = {
            "type": "completion",
            "id": f"compl_{self._name}",
            "model": self._model,
            "completion": text,
            "stop_reason": reason,
        }
        if reason is not None:
            payload["amazon-bedrock-invocationMetrics"] = {
                "inputTokenCount": self._usage.input_tokens,
                "outputTokenCount": self._usage.output_tokens,
            }
        return self.write(payload)

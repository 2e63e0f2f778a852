"""Writes Converse streams of Amazon Bedrock: content blocks in AWS messages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from headrace.rehearsal.script import Call, Error, Redacted, Say, Think
from headrace.rehearsal.wire.aws.message import write_event, write_exception
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter
from headrace.rehearsal.wire.words import aws_error


class BedrockWriter(PayloadWriter):
    """Writes one turn as blocks. Each line is a block."""

    dialect = "bedrock"
    reasons = {
        "content_filter": "content_filtered",
        "context_full": "model_context_window_exceeded",
    }
    _index = -1

    def begin(self) -> Iterable[bytes]:
        yield write_event("messageStart", {"role": "assistant"})

    def say(self, line: Say) -> Iterable[bytes]:
        return self._write_block([{"text": piece} for piece in line.pieces])

    def write_text(self, piece: str) -> Iterable[bytes]:
        return self._write_block([{"text": piece}])

    def write_thought(self, line: Think) -> Iterator[bytes]:
        """Write a block of reasoning. The signature comes last, and a block that breaks off has
        none."""
        pieces = () if line.encrypted else line.pieces
        deltas: list[JSONObject] = [{"reasoningContent": {"text": piece}} for piece in pieces]
        if line.signed or line.encrypted:
            deltas.append({"reasoningContent": {"signature": f"sig_{self._name}"}})
        return self._write_block(deltas)

    def redact(self, line: Redacted) -> Iterable[bytes]:
        data = b64encode(line.data.encode()).decode()
        return self._write_block([{"reasoningContent": {"redactedContent": data}}])

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        start = {"toolUse": {"toolUseId": call_id, "name": line.name}}
        return self._write_block([{"toolUse": {"input": piece}} for piece in line.pieces], start)

    def fail(self, line: Error) -> Iterable[bytes]:
        yield write_exception(*aws_error(line.category, line.message))

    def write_finish(self, reason: str) -> Iterable[bytes]:
        yield write_event("messageStop", {"stopReason": reason})

    def end(self) -> Iterable[bytes]:
        usage, cached = self._usage, self._usage.cached_input_tokens or 0
        report = {
            # Bedrock does not include cached tokens in the input; our counts do.
            "inputTokens": (usage.input_tokens or 0) - cached,
            "outputTokens": usage.output_tokens,
            "totalTokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
            "cacheReadInputTokens": cached,
        }
        yield write_event("metadata", {"usage": report, "metrics": {"latencyMs": 1}})

    def _write_block(
        self, deltas: list[JSONObject], start: JSONObject | None = None
    ) -> Iterator[bytes]:
        self._index += 1
        place: dict[str, Any] = {"contentBlockIndex": self._index}
        if start is not None:
            yield write_event("contentBlockStart", {**place, "start": start})
        for delta in deltas:
            yield write_event("contentBlockDelta", {**place, "delta": delta})
        yield write_event("contentBlockStop", place)

"""Writes chunks of xAI's own API, as gRPC messages that hold their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headrace.rehearsal.script import Call, Think
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter
from headrace.wire.framing.grpc import add_prefix


class XAIWriter(PayloadWriter):
    """Writes one turn as chunks. Calls come whole."""

    dialect = "xai"
    reasons = {
        "end_turn": "REASON_STOP",
        "tool_use": "REASON_TOOL_CALLS",
        "max_tokens": "REASON_MAX_LEN",
        "context_full": "REASON_MAX_CONTEXT",
    }

    def write(self, payload: JSONObject) -> bytes:
        return add_prefix(msgspec.json.encode(payload))

    def begin(self) -> Iterable[bytes]:
        yield self._write_chunk({"role": "ROLE_ASSISTANT"})

    def write_text(self, piece: str) -> Iterable[bytes]:
        yield self._write_chunk({"content": piece})

    def write_thought(self, line: Think) -> Iterator[bytes]:
        for piece in () if line.encrypted else line.pieces:
            yield self._write_chunk({"reasoning_content": piece})
        if line.signed or line.encrypted:
            yield self._write_chunk({"encrypted_content": f"sig_{self._name}"})

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        call = {
            "id": call_id,
            "type": "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL",
            "function": {"name": line.name, "arguments": line.raw},
        }
        yield self._write_chunk({"tool_calls": [call]})

    def write_finish(self, reason: str) -> Iterable[bytes]:
        usage, thoughts = self._usage, self._usage.reasoning_tokens or 0
        report = {
            "prompt_tokens": usage.input_tokens,
            # Reasoning is not part of the answer here.
            "completion_tokens": (usage.output_tokens or 0) - thoughts,
            "reasoning_tokens": thoughts,
            "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0),
            "cached_prompt_text_tokens": usage.cached_input_tokens,
        }
        yield self._write_chunk({}, reason, usage=report)

    def _write_chunk(self, delta: JSONObject, reason: str | None = None, **fields: Any) -> bytes:
        output: JSONObject = {"index": 0, "delta": delta}
        if reason is not None:
            output["finish_reason"] = reason
        head = {"id": f"chat_{self._name}", "model": self._model}
        return self.write({**head, "outputs": [output], **fields})

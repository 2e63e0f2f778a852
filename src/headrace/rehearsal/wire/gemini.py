"""Writes Gemini responses: each with one part of the only candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headrace.rehearsal.script import Call, Think
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter


class GeminiWriter(PayloadWriter):
    """Writes one turn as responses. A seal comes with an empty thought."""

    dialect = "gemini"
    reasons = {
        "end_turn": "STOP",
        "tool_use": "STOP",
        "max_tokens": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }

    def write_text(self, piece: str) -> Iterable[bytes]:
        yield self._write_part(text=piece)

    def write_thought(self, line: Think) -> Iterator[bytes]:
        for piece in () if line.encrypted else line.pieces:
            yield self._write_part(text=piece, thought=True)
        if line.signed or line.encrypted:
            yield self._write_part(text="", thought=True, thoughtSignature=f"sig_{self._name}")

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        args = msgspec.Raw(line.raw.encode() or b"{}")
        yield self._write_part(functionCall={"id": call_id, "name": line.name, "args": args})

    def write_finish(self, reason: str) -> Iterable[bytes]:
        usage, thoughts = self._usage, self._usage.reasoning_tokens or 0
        report = {
            "promptTokenCount": usage.input_tokens,
            # Reasoning is not part of the answer here.
            "candidatesTokenCount": (usage.output_tokens or 0) - thoughts,
            "thoughtsTokenCount": thoughts,
            "cachedContentTokenCount": usage.cached_input_tokens,
        }
        yield self._write_candidate({"parts": []}, reason, usageMetadata=report)

    def _write_part(self, **part: Any) -> bytes:
        return self._write_candidate({"role": "model", "parts": [part]})

    def _write_candidate(
        self, content: JSONObject, reason: str | None = None, **fields: Any
    ) -> bytes:
        candidate: JSONObject = {"index": 0, "content": content}
        if reason is not None:
            candidate["finishReason"] = reason
        ids = {"modelVersion": self._model, "responseId": f"resp_{self._name}"}
        return self.write({"candidates": [candidate], **ids, **fields})

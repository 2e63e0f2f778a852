"""Writes Cohere chat, version 2: events from `message-start` to `message-end`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.rehearsal.script import Call, Say, Think
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter
from headrace.rehearsal.wire.writer import sse


class CohereWriter(PayloadWriter):
    """Writes one turn as blocks of content and calls. Each line is a block."""

    dialect = "cohere"
    reasons = {
        "end_turn": "COMPLETE",
        "tool_use": "TOOL_CALL",
        "max_tokens": "MAX_TOKENS",
        "stop_sequence": "STOP_SEQUENCE",
    }
    _index = -1

    def begin(self) -> Iterable[bytes]:
        message: JSONObject = {"role": "assistant", "content": [], "tool_calls": []}
        yield _event("message-start", id=f"msg_{self._name}", delta={"message": message})

    def say(self, line: Say) -> Iterator[bytes]:
        yield from self._write_content("text", line.pieces)

    def write_text(self, piece: str) -> Iterable[bytes]:
        yield from self._write_content("text", [piece])

    def write_thought(self, line: Think) -> Iterable[bytes]:
        return () if line.encrypted else self._write_content("thinking", line.pieces)

    def write_call(self, line: Call, call_id: str) -> Iterator[bytes]:
        index = self._calls - 1
        start = {
            "id": call_id,
            "type": "function",
            "function": {"name": line.name, "arguments": ""},
        }
        yield _event("tool-call-start", index=index, delta={"message": {"tool_calls": start}})
        for piece in line.pieces:
            more = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
            yield _event("tool-call-delta", index=index, delta=more)
        yield _event("tool-call-end", index=index)

    def write_finish(self, reason: str) -> Iterable[bytes]:
        usage = self._usage
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        report = {"tokens": tokens, "cached_tokens": usage.cached_input_tokens}
        yield _event("message-end", delta={"finish_reason": reason, "usage": report})

    def _write_content(self, kind: str, pieces: Iterable[str]) -> Iterator[bytes]:
        self._index += 1
        start = {"message": {"content": {"type": kind, kind: ""}}}
        yield _event("content-start", index=self._index, delta=start)
        for piece in pieces:
            more = {"message": {"content": {kind: piece}}}
            yield _event("content-delta", index=self._index, delta=more)
        yield _event("content-end", index=self._index)


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, is_named=True)

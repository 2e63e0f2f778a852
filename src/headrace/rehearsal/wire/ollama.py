"""Writes Ollama chat: one JSON object per line, until one says that it is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from headrace.rehearsal.script import Call, Error, Think
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter


class OllamaWriter(PayloadWriter):
    """Writes one turn as lines. Calls have ids, as newer servers send them."""

    dialect = "ollama"
    reasons = {"end_turn": "stop", "tool_use": "stop", "max_tokens": "length"}

    def write(self, payload: JSONObject) -> bytes:
        return msgspec.json.encode(payload) + b"\n"

    def write_text(self, piece: str) -> Iterable[bytes]:
        yield self._write_line(content=piece)

    def write_thought(self, line: Think) -> Iterator[bytes]:
        for piece in () if line.encrypted else line.pieces:
            yield self._write_line(thinking=piece)

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        function = {"name": line.name, "arguments": msgspec.Raw(line.raw.encode() or b"{}")}
        yield self._write_line(tool_calls=[{"id": call_id, "function": function}])

    def fail(self, line: Error) -> Iterable[bytes]:
        yield self.write({"error": line.message})

    def write_finish(self, reason: str) -> Iterable[bytes]:
        report: JSONObject = {
            "prompt_eval_count": self._usage.input_tokens,
            "eval_count": self._usage.output_tokens,
        }
        yield self._write_line(done=True, done_reason=reason, **report)

    def _write_line(
        self, *, content: str = "", done: bool = False, done_reason: str | None = None, **more: Any
    ) -> bytes:
        message: JSONObject = {"role": "assistant", "content": content}
        line: JSONObject = {"model": self._model, "message": message, "done": done}
        if done:
            line |= {"done_reason": done_reason, **more}
        else:
            message |= more
        return self.write(line)

"""Writes streams of Google's Interactions API: steps that start, grow and stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.rehearsal.script import Call, Say, Think
from headrace.rehearsal.wire.payload_writer import JSONObject, PayloadWriter


class InteractionsWriter(PayloadWriter):
    """Writes one turn as steps. Each line is a step."""

    dialect = "interactions"
    reasons = {
        "end_turn": "completed",
        "tool_use": "requires_action",
        "max_tokens": "incomplete",
    }
    _index = -1

    def begin(self) -> Iterable[bytes]:
        yield self._write_event("interaction.created", interaction=self._create_head())

    def say(self, line: Say) -> Iterable[bytes]:
        deltas: list[JSONObject] = [{"type": "text", "text": piece} for piece in line.pieces]
        return self._write_step({"type": "model_output"}, deltas)

    def write_text(self, piece: str) -> Iterable[bytes]:
        return self._write_step({"type": "model_output"}, [{"type": "text", "text": piece}])

    def write_thought(self, line: Think) -> Iterable[bytes]:
        pieces = () if line.encrypted else line.pieces
        contents = [{"type": "text", "text": piece} for piece in pieces]
        deltas: list[JSONObject] = [
            {"type": "thought_summary", "content": content} for content in contents
        ]
        if line.signed or line.encrypted:
            deltas.append({"type": "thought_signature", "signature": f"sig_{self._name}"})
        return self._write_step({"type": "thought"}, deltas)

    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        step: JSONObject = {
            "type": "function_call",
            "id": call_id,
            "name": line.name,
            "arguments": {},
        }
        pieces: list[JSONObject] = [
            {"type": "arguments_delta", "arguments": piece} for piece in line.pieces
        ]
        return self._write_step(step, pieces)

    def write_finish(self, reason: str) -> Iterable[bytes]:
        usage, thoughts = self._usage, self._usage.reasoning_tokens or 0
        report = {
            "total_input_tokens": usage.input_tokens,
            # Reasoning is not part of the answer here.
            "total_output_tokens": (usage.output_tokens or 0) - thoughts,
            "total_thought_tokens": thoughts,
            "total_cached_tokens": usage.cached_input_tokens,
        }
        last = {**self._create_head(), "status": reason, "usage": report}
        yield self._write_event("interaction.completed", interaction=last)

    def _create_head(self) -> JSONObject:
        return {
            "id": f"interaction_{self._name}",
            "object": "interaction",
            "model": self._model,
            "status": "in_progress",
        }

    def _write_step(self, step: JSONObject, deltas: list[JSONObject]) -> Iterator[bytes]:
        self._index += 1
        yield self._write_event("step.start", index=self._index, step=step)
        for delta in deltas:
            yield self._write_event("step.delta", index=self._index, delta=delta)
        yield self._write_event("step.stop", index=self._index)

    def _write_event(self, kind: str, **fields: Any) -> bytes:
        return self.write({"event_type": kind, **fields})

"""Writes Anthropic Messages: blocks with a start, deltas and a stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headrace.rehearsal.script import (
    Approval,
    Call,
    Error,
    ProviderCall,
    Redacted,
    Say,
    ScriptedTurn,
    Think,
)
from headrace.rehearsal.wire.words import ANTHROPIC_REASONS, anthropic_error
from headrace.rehearsal.wire.writer import Occasion, refuse_to_run, sse, usage_of

JSONObject = dict[str, Any]


class AnthropicWriter:
    """Writes one turn as blocks. Blocks are never interleaved."""

    def __init__(self, turn: ScriptedTurn, occasion: Occasion) -> None:
        self._name = occasion.name
        self._model = occasion.model
        self._usage = usage_of(turn, occasion)
        self._index = -1
        self._calls = 0
        self._open: str | None = None
        self._signature: str | None = None

    def begin(self) -> Iterator[bytes]:
        cached = self._usage.cached_input_tokens or 0
        usage = {
            # Anthropic does not include cached tokens in the input; our counts do.
            "input_tokens": (self._usage.input_tokens or 0) - cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
            "output_tokens": 1,
        }
        message: JSONObject = {
            "id": f"msg_{self._name}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        yield _event("message_start", message=message)
        yield _event("ping")

    def think(self, line: Think) -> Iterator[bytes]:
        yield from self._start("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        for piece in () if line.encrypted else line.pieces:
            yield self._delta(type="thinking_delta", thinking=piece)
        if line.signed is not False:
            self._signature = f"sig_{self._name}_{self._index}"

    def redact(self, line: Redacted) -> Iterator[bytes]:
        yield from self._start("redacted", {"type": "redacted_thinking", "data": line.data})

    def say(self, line: Say) -> Iterator[bytes]:
        if self._open != "text":
            yield from self._start("text", {"type": "text", "text": ""})
        for piece in line.pieces:
            yield self._delta(type="text_delta", text=piece)

    def call(self, lines: Sequence[Call]) -> Iterator[bytes]:
        for line in lines:
            self._calls += 1
            id = line.call_id or f"toolu_{self._name}_{self._calls}"
            block: JSONObject = {"type": "tool_use", "id": id, "name": line.name, "input": {}}
            yield from self._start("call", block)
            for piece in ("", *line.pieces):
                yield self._delta(type="input_json_delta", partial_json=piece)

    def run(self, line: ProviderCall | Approval) -> Iterable[bytes]:
        raise refuse_to_run("anthropic")

    def fail(self, line: Error) -> Iterable[bytes]:
        yield _event("error", error=anthropic_error(line.category, line.message))

    def finish(self, word: str) -> Iterator[bytes]:
        yield from self._stop()
        usage: JSONObject = {"output_tokens": self._usage.output_tokens}
        if self._usage.reasoning_tokens:
            usage["output_tokens_details"] = {"thinking_tokens": self._usage.reasoning_tokens}
        delta = {"stop_reason": ANTHROPIC_REASONS.get(word, word), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=usage)

    def end(self) -> Iterable[bytes]:
        yield _event("message_stop")

    # -- blocks

    def _start(self, kind: str, block: JSONObject) -> Iterator[bytes]:
        yield from self._stop()
        self._index += 1
        self._open = kind
        yield _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, **delta: Any) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _stop(self) -> Iterator[bytes]:
        """Stop the block. The signature comes last, so a block that breaks off has none."""
        if self._open is None:
            return
        signature, self._signature, self._open = self._signature, None, None
        if signature is not None:
            yield self._delta(type="signature_delta", signature=signature)
        yield _event("content_block_stop", index=self._index)


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, is_named=True)

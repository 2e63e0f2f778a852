"""Writes Chat Completions, with reasoning as `reasoning_content`."""

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
from headrace.rehearsal.wire.words import CHAT_REASONS, openai_error
from headrace.rehearsal.wire.writer import Occasion, in_turns, refuse_to_run, sse, usage_of


class ChatWriter:
    """Writes one turn as chunks.

    The grammar has no seals; they are sent in `reasoning_details`, as OpenRouter does.
    """

    def __init__(self, turn: ScriptedTurn, occasion: Occasion) -> None:
        self._name = occasion.name
        self._usage = usage_of(turn, occasion)
        self._head = {
            "id": f"chatcmpl-{occasion.name}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": occasion.model,
        }
        self._calls = 0
        self._details = 0
        self._is_thinking = False

    def begin(self) -> Iterable[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def think(self, line: Think) -> Iterator[bytes]:
        if line.encrypted or line.signed:
            yield from self._think_with_seal(line)
            return
        # The grammar has no parts, so a blank line separates two thoughts.
        if self._is_thinking and line.pieces:
            yield self._chunk({"reasoning_content": "\n\n"})
        self._is_thinking = self._is_thinking or bool(line.pieces)
        for piece in line.pieces:
            yield self._chunk({"reasoning_content": piece})

    def _think_with_seal(self, line: Think) -> Iterator[bytes]:
        self._is_thinking = False
        entry = {"type": "reasoning.text", "index": self._details}
        seal = f"sig_{self._name}_{self._details}"
        if line.encrypted:
            yield self._detail({"type": "reasoning.encrypted", "data": seal})
            return
        for piece in line.pieces:
            yield self._chunk({"reasoning_details": [entry | {"text": piece}]})
        yield self._detail(entry | {"signature": seal})

    def _detail(self, entry: dict[str, Any]) -> bytes:
        chunk = self._chunk({"reasoning_details": [entry | {"index": self._details}]})
        self._details += 1
        return chunk

    def redact(self, line: Redacted) -> Iterable[bytes]:
        self._is_thinking = False
        yield self._detail({"type": "reasoning.encrypted", "data": line.data})

    def say(self, line: Say) -> Iterator[bytes]:
        self._is_thinking = self._is_thinking and not line.pieces
        for piece in line.pieces:
            yield self._chunk({"content": piece})

    def call(self, lines: Sequence[Call]) -> Iterator[bytes]:
        self._is_thinking = False
        return in_turns([self._call(line) for line in lines])

    def _call(self, line: Call) -> list[bytes]:
        index = self._calls
        self._calls += 1
        start = {
            "index": index,
            "id": line.call_id or f"call_{self._name}_{index + 1}",
            "type": "function",
            "function": {"name": line.name, "arguments": ""},
        }
        entries = [{"index": index, "function": {"arguments": piece}} for piece in line.pieces]
        return [self._chunk({"tool_calls": [entry]}) for entry in (start, *entries)]

    def run(self, line: ProviderCall | Approval) -> Iterable[bytes]:
        raise refuse_to_run("chat")

    def fail(self, line: Error) -> Iterable[bytes]:
        yield sse({"error": openai_error(line.category, line.message)})

    def finish(self, word: str) -> Iterable[bytes]:
        yield self._chunk({}, CHAT_REASONS.get(word, word))

    def end(self) -> Iterable[bytes]:
        told = self._usage
        report = {
            "prompt_tokens": told.input_tokens,
            "completion_tokens": told.output_tokens,
            "total_tokens": (told.input_tokens or 0) + (told.output_tokens or 0),
            "prompt_tokens_details": {"cached_tokens": told.cached_input_tokens},
            "completion_tokens_details": {"reasoning_tokens": told.reasoning_tokens},
        }
        yield sse({**self._head, "choices": [], "usage": report})
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return sse({**self._head, "choices": [choice], "usage": None})

"""The base of writers whose events are one payload each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

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
from headrace.rehearsal.wire.words import openai_error
from headrace.rehearsal.wire.writer import Occasion, refuse_to_run, sse, usage_of

JSONObject = dict[str, Any]


class PayloadWriter:
    """Writes one turn as payloads. Calls are never interleaved.

    A subclass says how a piece of text, a piece of reasoning, a call and the end are written.
    """

    dialect: ClassVar[str]
    reasons: ClassVar[dict[str, str]] = {}
    """Finish reasons in the words of the dialect; others are sent as they are."""

    def __init__(self, turn: ScriptedTurn, occasion: Occasion) -> None:
        self._name = occasion.name
        self._model = occasion.model
        self._usage = usage_of(turn, occasion)
        self._calls = 0

    def write(self, payload: JSONObject) -> bytes:
        """Write one payload as bytes."""
        return sse(payload)

    @abstractmethod
    def write_text(self, piece: str) -> Iterable[bytes]:
        """Write a piece of text."""

    def write_thought(self, line: Think) -> Iterable[bytes]:
        """Write a thought. By default there is no reasoning."""
        del line
        return ()

    @abstractmethod
    def write_call(self, line: Call, call_id: str) -> Iterable[bytes]:
        """Write one call."""

    def begin(self) -> Iterable[bytes]:
        return ()

    def think(self, line: Think) -> Iterable[bytes]:
        return self.write_thought(line)

    def say(self, line: Say) -> Iterable[bytes]:
        for piece in line.pieces:
            yield from self.write_text(piece)

    def call(self, lines: Sequence[Call]) -> Iterator[bytes]:
        for line in lines:
            self._calls += 1
            yield from self.write_call(line, line.call_id or f"call_{self._name}_{self._calls}")

    def redact(self, line: Redacted) -> Iterable[bytes]:
        """Write nothing: the dialect has no encrypted reasoning."""
        del line
        return ()

    def run(self, line: ProviderCall | Approval) -> Iterable[bytes]:
        raise refuse_to_run(self.dialect)

    def fail(self, line: Error) -> Iterable[bytes]:
        yield self.write({"error": openai_error(line.category, line.message)})

    def finish(self, word: str) -> Iterable[bytes]:
        return self.write_finish(self.reasons.get(word, word))

    def write_finish(self, reason: str) -> Iterable[bytes]:
        """Write the finish reason. By default there is none."""
        del reason
        return ()

    def end(self) -> Iterable[bytes]:
        return ()

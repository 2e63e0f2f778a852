"""Writes the chunks of one answer, which all repeat its id, its time and its model."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from headrace.events import JSONObject
from headrace.outcome import FinishReason
from headrace.projections.openai_chat import frame as fr
from headrace.projections.openai_chat.frame import (
    ChatFrame,
    Choice,
    Chunk,
    Delta,
    Piece,
    TextField,
    encode_prefix,
)
from headrace.projections.openai_chat.shown_choice import ShownChoice
from headrace.usage import Usage


class ChunkWriter:
    """Writes chunks. The first chunk of each choice has its role."""

    def __init__(self, response_id: str | None, model: str | None) -> None:
        self.id = response_id
        self.model = model
        self.created: int | None = None
        """When the answer began, in seconds since the epoch."""

    def add_text(self, choice: ShownChoice, field: TextField, text: str) -> list[ChatFrame]:
        """Return the chunk of more text."""
        prefix = choice.prefixes.get(field)
        if prefix is not None:
            return [Piece(prefix, text, choice.index, field)]
        prefix = choice.prefixes[field] = encode_prefix(self._chunk(choice, Delta()), field)
        return [*self._start(choice), Piece(prefix, text, choice.index, field)]

    def add(self, choice: ShownChoice, delta: Delta) -> list[ChatFrame]:
        """Return the chunk of a delta."""
        return [*self._start(choice), self._chunk(choice, delta)]

    def finish(
        self, choice: ShownChoice, reason: FinishReason, logprobs: Any, **facts: str | None
    ) -> list[ChatFrame]:
        """Return the last chunk of a choice. `facts` are fields of the chunk, if they are known."""
        chunk = self._chunk(choice, Delta(annotations=tuple(choice.annotations)))
        end = msgspec.structs.replace(
            chunk.choices[0],
            finish_reason=fr.to_finish_word(reason),
            logprobs=_join_logprobs(logprobs),
        )
        known = {name: value for name, value in facts.items() if value}
        return [*self._start(choice), msgspec.structs.replace(chunk, choices=(end,), **known)]

    def report(self, usage: Usage) -> list[ChatFrame]:
        """Return the chunk with the usage, or nothing if it is not known."""
        if not usage.is_known:
            return []
        return [msgspec.structs.replace(self._chunk_of(()), usage=fr.to_usage(usage))]

    def _start(self, choice: ShownChoice) -> list[ChatFrame]:
        if choice.is_started:
            return []
        choice.is_started = True
        return [self._chunk(choice, Delta(role="assistant", content=""))]

    def _chunk(self, choice: ShownChoice, delta: Delta) -> Chunk:
        return self._chunk_of((Choice(choice.index, delta),))

    def _chunk_of(self, choices: tuple[Choice, ...]) -> Chunk:
        created = self.created or 0
        return Chunk(self.id or "", "chat.completion.chunk", created, self.model or "", choices)


def _join_logprobs(pieces: list[JSONObject] | None) -> Any:
    """Return the log-probabilities of a choice as one object."""
    if not pieces:
        return UNSET
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {name: [entry for piece in pieces for entry in piece.get(name) or ()] for name in names}

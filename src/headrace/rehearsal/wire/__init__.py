"""Writes scripted turns as bytes, one file per dialect. Equal turns give equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.errors import UsageError
from headrace.rehearsal.script import ScriptedTurn
from headrace.rehearsal.wire.anthropic import AnthropicWriter
from headrace.rehearsal.wire.aws.bedrock import BedrockWriter
from headrace.rehearsal.wire.aws.bedrock_agent import BedrockAgentWriter
from headrace.rehearsal.wire.chat import ChatWriter
from headrace.rehearsal.wire.cohere import CohereWriter
from headrace.rehearsal.wire.gemini import GeminiWriter
from headrace.rehearsal.wire.interactions import InteractionsWriter
from headrace.rehearsal.wire.ollama import OllamaWriter
from headrace.rehearsal.wire.responses import ResponsesWriter
from headrace.rehearsal.wire.text import TextWriter
from headrace.rehearsal.wire.writer import Occasion, Step, Writer, play
from headrace.rehearsal.wire.xai import XAIWriter

_WRITERS: dict[str, Callable[[ScriptedTurn, Occasion], Writer]] = {
    "chat": ChatWriter,
    "anthropic": AnthropicWriter,
    "responses": ResponsesWriter,
    "gemini": GeminiWriter,
    "ollama": OllamaWriter,
    "xai": XAIWriter,
    "bedrock": BedrockWriter,
    "text": TextWriter,
    "cohere": CohereWriter,
    "interactions": InteractionsWriter,
    "bedrock-agent": BedrockAgentWriter,
}
DIALECTS: tuple[str, ...] = tuple(_WRITERS)
"""Names of the dialects in which a script can be played."""


def steps_of(
    turn: ScriptedTurn, dialect: str = "chat", occasion: Occasion | None = None
) -> Iterator[Step]:
    """Yield what the provider does in this turn, event by event.

    Raises `UsageError` for a dialect that cannot be written.
    """
    writer = _WRITERS.get(dialect)
    if writer is None:
        raise UsageError(f"no script in {dialect!r}: there are {', '.join(DIALECTS)}")
    return play(turn, writer(turn, occasion or Occasion()))


__all__ = ["DIALECTS", "Occasion", "Step", "steps_of"]

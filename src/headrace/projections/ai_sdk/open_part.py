"""Texts and blocks of reasoning that are open in the AI SDK's stream."""

from __future__ import annotations

import msgspec

from headrace.events import SealKind
from headrace.status.answer_text import AnswerText
from headrace.status.reasoning_reader import ReasoningReader


class OpenPart(msgspec.Struct, eq=False, kw_only=True):
    """A part that was announced."""

    id: str
    item_id: str | None = None
    seals: dict[SealKind, str] = msgspec.field(default_factory=dict[SealKind, str])


class OpenText(OpenPart, eq=False, kw_only=True):
    """A text, and what removes status markers from it."""

    reader: AnswerText


class OpenThought(OpenPart, eq=False, kw_only=True):
    """A block of reasoning, and what finds status phrases in it."""

    reader: ReasoningReader

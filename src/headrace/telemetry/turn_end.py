"""Fills in the attributes of a request's span: timing, usage and how the answer ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.events import ReasoningDelta, TextDelta, TurnFailed, TurnFinished
from headrace.telemetry import names
from headrace.telemetry.span import Span
from headrace.usage import Usage


def note_chunk(chat: Span, kind: type[Any], at_ms: int) -> None:
    """Note that output of this kind has arrived."""
    chat.note_chunk(at_ms)
    if kind is TextDelta and chat.first_text_ms is None:
        chat.first_text_ms = at_ms
        chat.set(names.FIRST_TEXT, (at_ms - chat.start_ms) / 1000)
    elif kind is ReasoningDelta and chat.first_reasoning_ms is None:
        chat.first_reasoning_ms = at_ms
        chat.set(names.FIRST_REASONING, (at_ms - chat.start_ms) / 1000)


def fill_turn(chat: Span, event: TurnFinished | TurnFailed, finish_reasons: Sequence[str]) -> None:
    """Set the usage and the finish reasons of an answer."""
    fill_usage(chat, event.usage)
    reasons = tuple(finish_reasons)
    if not reasons and isinstance(event, TurnFinished):
        reasons = (event.raw_reason or str(event.reason),)
    chat.set(names.FINISH_REASONS, reasons)


def fill_usage(span: Span, usage: Usage) -> None:
    """Set the token counts and the cost that are known."""
    span.set_all(
        {
            names.INPUT_TOKENS: usage.input_tokens,
            names.OUTPUT_TOKENS: usage.output_tokens,
            # Zeros are left out, as other instrumentations do.
            names.CACHE_READ_TOKENS: usage.cached_input_tokens or None,
            names.CACHE_WRITE_TOKENS: usage.cache_creation_input_tokens or None,
            names.REASONING_TOKENS: usage.reasoning_tokens or None,
            names.COST: usage.cost,
            names.IS_ESTIMATED: usage.is_estimated or None,
        }
    )

"""Counters of one output, and the phase status that follows from them."""

from __future__ import annotations

import msgspec

from headrace.events import PhaseStatus
from headrace.outcome import FinishReason


class OutputStats(msgspec.Struct, gc=False):
    """Counters of one output so far. They count deltas, not tokens: a delta may hold several."""

    output: int = 0
    reasoning_deltas: int = 0
    """Deltas of reasoning."""
    reasoning_chars: int = 0
    """Characters of reasoning."""
    content_deltas: int = 0
    """Deltas of text."""
    content_chars: int = 0
    """Characters of text."""
    has_call: bool = False
    """Whether a call has started, of the client or of the provider."""
    is_reasoning_last: bool = False
    """Whether reasoning is the latest thing that arrived, with no text or call after it."""
    is_finished: bool = False
    """Whether the output has finished."""
    finish: FinishReason | None = None
    """Why the output ended. None while it is open, or if the stream broke off without a reason."""


def output_status(stats: OutputStats) -> tuple[PhaseStatus, PhaseStatus]:
    """Return the status of an output's reasoning and of its content.

    Reasoning is complete once text or a call has begun, and pending again if it resumes after them.
    In a finished output both are complete, even if one of them is empty.
    """
    if stats.is_finished:
        return "complete", "complete"
    content: PhaseStatus = "pending" if stats.content_deltas else "init"
    if stats.is_reasoning_last:
        return "pending", content
    return ("complete" if stats.content_deltas or stats.has_call else "init"), content

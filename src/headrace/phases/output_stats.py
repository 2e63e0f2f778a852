"""What is counted of one output, and the status that follows from it."""

from __future__ import annotations

import msgspec

from headrace.events import PhaseStatus
from headrace.outcome import FinishReason


class OutputStats(msgspec.Struct, gc=False):
    """The counts of one output so far. Deltas are counted, not tokens: a delta may hold
    several."""

    output: int = 0
    reasoning_deltas: int = 0
    reasoning_chars: int = 0
    content_deltas: int = 0
    content_chars: int = 0
    has_call: bool = False
    is_reasoning_last: bool = False
    """Reasoning came, and no text or call after it."""
    is_finished: bool = False
    finish: FinishReason | None = None
    """None while it goes on, and where the stream broke off before a reason was told."""


def output_status(stats: OutputStats) -> tuple[PhaseStatus, PhaseStatus]:
    """The status of an output's reasoning and of its content.

    Reasoning is complete once text or a call has begun; if it resumes after them it is
    pending again. An output that has finished is complete in both, whatever it held.
    """
    if stats.is_finished:
        return "complete", "complete"
    content: PhaseStatus = "pending" if stats.content_deltas else "init"
    if stats.is_reasoning_last:
        return "pending", content
    return ("complete" if stats.content_deltas or stats.has_call else "init"), content

"""Tokens per second, from a timeline and the provider's token counts."""

from __future__ import annotations

import msgspec

from headrace.timeline.span import SpanKind
from headrace.timeline.timeline import Timeline


class Pace(msgspec.Struct, frozen=True, gc=False):
    """Tokens per second. A value is None if the tokens are unknown or arrived at one moment."""

    streaming: float | None = None
    """Reasoning, arguments and text over the time that they took to stream."""
    reasoning: float | None = None
    text: float | None = None
    """Text and call arguments."""


def pace(timeline: Timeline) -> Pace:
    """Return the pace of a run, without its nested runs."""
    output, thought = timeline.usage.output_tokens, timeline.usage.reasoning_tokens
    if output is None:
        return Pace()
    reasoning_ms = _ms(timeline, "reasoning")
    text_ms = _ms(timeline, "text", "call")
    is_hidden = not reasoning_ms and thought is not None
    # Hidden reasoning took time that no span shows.
    streamed = output - thought if is_hidden and thought is not None else output
    if thought is None or is_hidden:
        return Pace(_rate(streamed, reasoning_ms + text_ms))
    return Pace(
        _rate(streamed, reasoning_ms + text_ms),
        _rate(thought, reasoning_ms),
        _rate(output - thought, text_ms),
    )


def _ms(timeline: Timeline, *kinds: SpanKind) -> int:
    return sum(span.ms for span in timeline.spans if span.kind in kinds and not span.path)


def _rate(tokens: int, ms: int) -> float | None:
    return 1000 * tokens / ms if ms > 0 and tokens > 0 else None

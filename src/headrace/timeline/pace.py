"""Pace: tokens per second, of what a timeline tells. Tokens are those that the provider counts."""

from __future__ import annotations

import msgspec

from headrace.timeline.span import SpanKind
from headrace.timeline.timeline import Timeline


class Pace(msgspec.Struct, frozen=True, gc=False):
    """Tokens per second; None where the tokens were not told, or came at one moment."""

    streaming: float | None = None
    """Of all that streamed: reasoning, arguments and text, over the time that these took."""
    reasoning: float | None = None
    text: float | None = None
    """Text and the arguments of calls."""


def pace(timeline: Timeline) -> Pace:
    """How fast the run itself went; nested runs have usage of their own."""
    output, thought = timeline.usage.output_tokens, timeline.usage.reasoning_tokens
    if output is None:
        return Pace()
    reasoning_ms = _ms(timeline, "reasoning")
    text_ms = _ms(timeline, "text", "call")
    is_hidden = not reasoning_ms and thought is not None
    # Thoughts that nobody saw took time that no span shows.
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

"""Tokens per second."""

from __future__ import annotations

import pytest

from headrace.timeline.span import Span, SpanKind
from headrace.timeline.timeline import Pace, Timeline, pace
from headrace.usage import Usage


def span(kind: SpanKind, start_ms: int, end_ms: int, path: tuple[str, ...] = ()) -> Span:
    return Span(kind=kind, output=0, start_ms=start_ms, end_ms=end_ms, path=path)


THOUGHT, TEXT, CALL = span("reasoning", 0, 2000), span("text", 2000, 6000), span("call", 0, 1000)


@pytest.mark.parametrize(
    ("spans", "usage", "told"),
    [
        ((THOUGHT, TEXT), Usage(), Pace()),
        ((THOUGHT, TEXT), Usage(output_tokens=60), Pace(10.0)),
        ((THOUGHT, TEXT), Usage(output_tokens=60, reasoning_tokens=20), Pace(10.0, 10.0, 10.0)),
        ((THOUGHT, TEXT, CALL), Usage(output_tokens=70, reasoning_tokens=20), Pace(10, 10, 10)),
        # Thoughts that were counted, and never shown.
        ((TEXT,), Usage(output_tokens=60, reasoning_tokens=20), Pace(10.0)),
        ((TEXT,), Usage(output_tokens=40, reasoning_tokens=0), Pace(10.0)),
        ((), Usage(output_tokens=60), Pace()),
        # A nested run has usage of its own.
        ((TEXT, span("text", 0, 9000, ("c",))), Usage(output_tokens=40), Pace(10.0)),
    ],
)
def test_tokens_are_counted_over_the_time_in_which_they_streamed(
    spans: tuple[Span, ...], usage: Usage, told: Pace
) -> None:
    assert pace(Timeline(spans=spans, usage=usage)) == told

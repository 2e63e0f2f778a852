"""Spans: stretches of time in which one thing happened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

SpanKind: TypeAlias = Literal["reasoning", "text", "call", "tool", "media", "opaque"]


class Span(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One stretch of time in an output.

    `reasoning` and `text` cover consecutive parts of that kind. `call` is arguments being written;
    `tool` is a running tool of the provider or the client. `media` and `opaque` arrive whole and
    take no time.
    """

    kind: SpanKind
    """What happened."""
    output: int
    path: tuple[str, ...] = ()
    """Ids of the calls that lead to a nested run."""
    step: int = 0
    """Number of the step."""
    start_ms: int
    """Start time."""
    end_ms: int
    """End time."""
    label: str = ""
    """Tool name, media type, or kind of the opaque item."""
    call_id: str | None = None
    """Id of the call, if it is one."""
    parts: int = 1
    """Number of parts in it."""
    deltas: int = 0
    """Number of deltas; for a tool, the number of its reports including the result."""
    chars: int = 0
    """Number of characters; for a tool, the length of its result text."""
    is_error: bool = False
    """Whether the arguments were malformed or the tool failed."""

    @property
    def ms(self) -> int:
        """Duration in milliseconds."""
        return self.end_ms - self.start_ms


class Total(msgspec.Struct, frozen=True, gc=False):
    """Sums over several spans. Spans that overlap in time are all counted."""

    spans: int = 0
    ms: int = 0
    parts: int = 0
    deltas: int = 0
    chars: int = 0

    @property
    def chars_per_s(self) -> float | None:
        """Characters per second, or None if everything arrived at one moment."""
        return 1000 * self.chars / self.ms if self.ms else None


def total(spans: Iterable[Span]) -> Total:
    """Add up some spans."""
    rows = [(1, span.ms, span.parts, span.deltas, span.chars) for span in spans]
    return Total(*map(sum, zip(*rows, strict=True)))

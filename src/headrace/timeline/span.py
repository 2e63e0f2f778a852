"""Spans: stretches of time in which one thing happened, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

SpanKind: TypeAlias = Literal["reasoning", "text", "call", "tool", "media", "opaque"]


class Span(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One phase of an output.

    `reasoning` and `text` are as many consecutive parts as came without anything between
    them; `call` is arguments being written; `tool` is a tool that runs, the provider's or
    ours. `media` and `opaque` are moments: they come whole.
    """

    kind: SpanKind
    output: int
    path: tuple[str, ...] = ()
    step: int = 0
    start_ms: int
    end_ms: int
    label: str = ""
    """The tool's name, the media type, or the kind of the opaque item."""
    call_id: str | None = None
    parts: int = 1
    deltas: int = 0
    """Of a tool: its reports, the result among them."""
    chars: int = 0
    """Of a tool: the text of its result."""
    is_error: bool = False
    """Malformed arguments, or a tool that failed."""

    @property
    def ms(self) -> int:
        """How long it took."""
        return self.end_ms - self.start_ms


class Total(msgspec.Struct, frozen=True, gc=False):
    """What spans add up to; spans of the same time, of candidates or tools, count each."""

    spans: int = 0
    ms: int = 0
    parts: int = 0
    deltas: int = 0
    chars: int = 0

    @property
    def chars_per_s(self) -> float | None:
        """None where everything came at one moment."""
        return 1000 * self.chars / self.ms if self.ms else None


def total(spans: Iterable[Span]) -> Total:
    """The sum of some spans."""
    rows = [(1, span.ms, span.parts, span.deltas, span.chars) for span in spans]
    return Total(*map(sum, zip(*rows, strict=True)))

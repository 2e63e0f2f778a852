"""Lanes: the spans of a timeline arranged in rows without overlap."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

import msgspec

from headrace.timeline.pulse import Pulse
from headrace.timeline.span import Span, SpanKind, total
from headrace.timeline.timeline import Timeline

_Place = tuple[tuple[str, ...], int]
# The usual order within a turn: reasoning, tools, text.
_ORDER: dict[SpanKind, int] = {
    "reasoning": 0,
    "call": 1,
    "tool": 1,
    "text": 2,
    "media": 3,
    "opaque": 4,
}
_WORDS = {0: "reasoning", 2: "text", 3: "media", 4: "other"}


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One row: spans of one kind or one tool, sorted by start.

    Tools that run at the same time get one lane each, even if they have the same name.
    """

    kind: SpanKind
    """Kind of the spans; `tool` covers both the calls of a tool and its executions."""
    label: str
    path: tuple[str, ...] = ()
    output: int | None = None
    """Number of the output, or None if all outputs share the lane."""
    spans: tuple[Span, ...]
    pulse: Pulse | None = None

    @property
    def ms(self) -> int:
        """Total duration in milliseconds."""
        return total(self.spans).ms

    @property
    def chars(self) -> int:
        """Total number of characters."""
        return total(self.spans).chars

    @property
    def chars_per_s(self) -> float | None:
        """Characters per second, or None if everything arrived at one moment."""
        return total(self.spans).chars_per_s

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len({(span.step, span.call_id) for span in self.spans})


def lanes(timeline: Timeline) -> list[Lane]:
    """Return all lanes, ordered by path and output in order of appearance, then by kind."""
    places: dict[_Place, dict[tuple[int, str], list[Span]]] = {}
    is_shared = timeline.is_successive or timeline.outputs < 2
    for span in timeline.spans:
        place = span.path, 0 if is_shared else span.output
        rank = _ORDER[span.kind]
        rows = places.setdefault(place, {})
        rows.setdefault((rank, _WORDS.get(rank, span.label)), []).append(span)
    pulses = {(p.path, 0 if is_shared else p.output, p.kind): p for p in timeline.pulses}
    return [
        _lane(place, rank, label, row, pulses, is_shared)
        for place, rows in places.items()
        for (rank, label), spans in sorted(rows.items(), key=lambda entry: entry[0][0])
        for row in _rows(spans)
    ]


def _lane(
    place: _Place,
    rank: int,
    label: str,
    spans: tuple[Span, ...],
    pulses: dict[tuple[tuple[str, ...], int, str], Pulse],
    is_shared: bool,
) -> Lane:
    path, output = place
    kind = "tool" if rank == 1 else spans[0].kind
    return Lane(
        kind=kind,
        label=label,
        path=path,
        output=None if is_shared else output,
        spans=spans,
        pulse=pulses.get((path, output, kind)),
    )


def _rows(spans: Iterable[Span]) -> list[tuple[Span, ...]]:
    """Arrange spans in as few rows as possible without overlap. A call stays with its execution."""
    rows: list[list[Span]] = []
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for chain in _chains(spans):
        while busy and busy[0][0] <= chain[0].start_ms:
            heappush(free, heappop(busy)[1])
        if not free:
            rows.append([])
            heappush(free, len(rows) - 1)
        row = heappop(free)
        rows[row] += chain
        heappush(busy, (chain[-1].end_ms, row))
    return [tuple(row) for row in rows]


def _chains(spans: Iterable[Span]) -> list[list[Span]]:
    """Group spans that belong to one call; every other span is its own group."""
    chains: list[list[Span]] = []
    by_call: dict[tuple[int, str | None], list[Span]] = {}
    for span in spans:
        key = span.step, span.call_id
        chain = by_call.get(key)
        if span.call_id is not None and chain is not None and chain[-1].end_ms <= span.start_ms:
            chain.append(span)
        else:
            by_call[key] = [span]
            chains.append(by_call[key])
    return chains

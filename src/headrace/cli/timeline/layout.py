"""The layout of a timeline: scale, ticks, rows and texts, independent of how it is drawn.

Foreign text stays raw here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from headrace.cli.terminal.event_text import usage_words
from headrace.timeline.lane import Lane
from headrace.timeline.span import Span, SpanKind
from headrace.timeline.timeline import Timeline, pace
from headrace.usage import Usage

MAX_LANES = 24
# A terminal can show more rows, but a run may have thousands of nested runs.
_MAX_PROSE_LANES, _MIN_OTHER_LANES = 256, 4
_SECOND_MS, _MINUTE_MS, _HOUR_MS, _DAY_MS = 1000, 60_000, 3_600_000, 86_400_000
_TICK_STEPS_MS = (
    *(digit * 10**power for power in range(3) for digit in (1, 2, 5)),
    *(seconds * _SECOND_MS for seconds in (1, 2, 5, 10, 15, 30)),
    *(minutes * _MINUTE_MS for minutes in (1, 2, 5, 10, 15, 30)),
)
# Which of two things is shown in the same cell.
_RANKS: dict[SpanKind, int] = {"call": 1, "tool": 2}


class Scale(NamedTuple):
    """Maps time to cells. A stream of one moment is in the first cell."""

    start_ms: int
    duration_ms: int
    cells: int

    def cell(self, at_ms: int) -> int:
        """Return the cell edge that is nearest to a moment."""
        if not self.duration_ms:
            return 0
        return (2 * (at_ms - self.start_ms) * self.cells + self.duration_ms) // (
            2 * self.duration_ms
        )


def ticks(duration_ms: int, most: int) -> list[int]:
    """Return round times from 0 on, in at most `most` steps."""
    least = duration_ms / max(most, 1)
    step = next((step for step in _TICK_STEPS_MS if step >= least), _HOUR_MS)
    while step < least:
        step *= 2
    return list(range(0, duration_ms + 1, step))


def tick_words(at_ms: int, duration_ms: int) -> str:
    """Format a time on the axis: `200 ms`, `1.5 s`, `2:30`, `1:00:00`, `48 h`."""
    if duration_ms < _SECOND_MS:
        return f"{at_ms} ms" if at_ms else "0"
    if duration_ms < _MINUTE_MS:
        return f"{at_ms / _SECOND_MS:g} s" if at_ms else "0"
    if duration_ms >= _DAY_MS:
        return f"{at_ms // _HOUR_MS:,} h" if at_ms else "0"
    return _clock(at_ms // _SECOND_MS, has_hours=duration_ms >= _HOUR_MS)


def _clock(seconds: int, *, has_hours: bool) -> str:
    minutes, second = divmod(seconds, 60)
    if not has_hours:
        return f"{minutes}:{second:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


def duration_words(ms: int) -> str:
    """Format a duration: `420 ms`, `6.4 s`, `4:05 min`, `1:05 h`."""
    if ms < _SECOND_MS:
        return f"{ms} ms"
    if ms < _MINUTE_MS - 50:
        return f"{ms / _SECOND_MS:.1f} s"
    if ms < _HOUR_MS - 500:
        return _clock((ms + 500) // _SECOND_MS, has_hours=False) + " min"
    if ms < 2 * _DAY_MS:
        return _clock((ms + 30_000) // _MINUTE_MS, has_hours=False) + " h"
    return f"{ms // _HOUR_MS:,} h"


def count_words(number: float) -> str:
    """Format a count for a narrow column."""
    if number < 999_999.5:
        return f"{round(number):,}"
    millions = number / 1_000_000
    return f"{millions:.1f} M" if millions < 999.95 else f"{millions / 1000:.1f} G"


# --- rows ------------------------------------------------------------------------------


class Run(NamedTuple):
    """Adjacent cells of a lane that look the same, and the spans that begin there."""

    start: int
    end: int
    kind: SpanKind
    is_error: bool
    spans: list[Span]


def runs(spans: Sequence[Span], scale: Scale, *, least: int = 1) -> list[Run]:
    """Return what a lane shows: at most one run per cell. The shortest span has `least` cells."""
    looks: list[tuple[int, SpanKind, bool] | None] = [None] * scale.cells
    begun: dict[int, list[Span]] = {}
    for span in spans:
        start = min(scale.cell(span.start_ms), scale.cells - least)
        end = min(max(scale.cell(span.end_ms), start + least), scale.cells)
        look = _RANKS.get(span.kind, 0) + 10 * span.is_error, span.kind, span.is_error
        for cell in range(start, end):
            looks[cell] = max(looks[cell] or look, look)
        begun.setdefault(start, []).append(span)
    return list(_join_runs(looks, begun))


def _join_runs(
    looks: list[tuple[int, SpanKind, bool] | None], begun: dict[int, list[Span]]
) -> Iterator[Run]:
    start = 0
    for look, cells in groupby(looks):
        end = start + sum(1 for _ in cells)
        if look is not None:
            inside = [span for cell in range(start, end) for span in begun.get(cell, ())]
            yield Run(start, end, look[1], look[2], inside)
        start = end


def shown_lanes(lanes: Sequence[Lane]) -> list[Lane]:
    """Return the lanes that fit, in order: reasoning, text, and the longest of the others."""
    prose = [at for at, lane in enumerate(lanes) if lane.kind in ("reasoning", "text")]
    others = [at for at, lane in enumerate(lanes) if lane.kind not in ("reasoning", "text")]
    others.sort(key=lambda at: -lanes[at].ms)
    room = max(MAX_LANES - len(prose), _MIN_OTHER_LANES)
    return [lanes[at] for at in sorted([*prose[:_MAX_PROSE_LANES], *others[:room]])]


def headings(lanes: Sequence[Lane]) -> list[str | None]:
    """Return the heading above each lane: the output or nested run that begins there."""
    places = [(lane.path, lane.output) for lane in lanes]
    if len(set(places)) < 2:
        return [None] * len(lanes)
    names = {span.call_id: span.label for lane in lanes for span in lane.spans if span.call_id}
    starts = [at == 0 or place != places[at - 1] for at, place in enumerate(places)]
    return [
        _heading(lane, names) if is_start else None
        for lane, is_start in zip(lanes, starts, strict=True)
    ]


def _heading(lane: Lane, names: dict[str, str]) -> str | None:
    where = " ".join(f"› {names.get(call_id, call_id)}" for call_id in lane.path)
    output = "" if lane.output is None else f"output {lane.output}"
    return " · ".join(filter(None, (where, output))) or None


def lane_numbers(lane: Lane) -> tuple[str, str, str]:
    """Return the columns beside a lane: time, characters, characters per second.

    A tool has the number of its calls instead of characters.
    """
    ms = duration_words(lane.ms) if lane.ms or lane.kind in ("reasoning", "text") else ""
    if lane.kind == "tool":
        return ms, _calls_words(lane.calls), ""
    if lane.kind not in ("reasoning", "text"):
        return ms, count_words(len(lane.spans)), ""
    rate = lane.chars_per_s
    return ms, count_words(lane.chars), "" if rate is None else count_words(rate)


def _calls_words(calls: int) -> str:
    if calls < 100:
        return f"{calls} call{'s' * (calls != 1)}"
    return f"{count_words(calls)}×"


# --- texts -------------------------------------------------------------------------------


class Fact(NamedTuple):
    """A line below the rows."""

    label: str
    words: str
    is_bad: bool = False


def title(timeline: Timeline) -> str:
    """Return who answered."""
    told = filter(None, (timeline.model, timeline.provider, timeline.dialect))
    return " · ".join(dict.fromkeys(told)) or "nobody"


def facts(timeline: Timeline, hidden_lanes: int = 0) -> list[Fact]:
    """Return what the rows cannot show."""
    rows_are = "row that is" if hidden_lanes == 1 else "rows that are"
    counts = ((timeline.steps, "steps"), (timeline.outputs, "outputs"))
    rows = [
        Fact("more", f"{hidden_lanes} {rows_are} not shown" if hidden_lanes else ""),
        Fact("first", _firsts(timeline)),
        Fact("quiet", _quiet(timeline)),
        Fact("run", " · ".join(f"{number} {word}" for number, word in counts if number > 1)),
        Fact("usage", usage_words(timeline.usage)),
        Fact("cache", _cache(timeline.usage)),
        Fact("speed", _speed(timeline)),
        _end(timeline),
    ]
    return [fact for fact in rows if fact.words]


def _cache(usage: Usage) -> str:
    """Return what the provider's cache saved, and what was written to it."""
    read, written = usage.cached_input_tokens, usage.cache_creation_input_tokens
    share = (
        f" ({read / usage.input_tokens:.0%} of the input)" if read and usage.input_tokens else ""
    )
    words = [
        f"{read:,} tokens read{share}" if read else "",
        f"{written:,} written" if written else "",
    ]
    return " · ".join(filter(None, words))


def _firsts(timeline: Timeline) -> str:
    firsts = (("reasoning", timeline.first_reasoning_ms), ("text", timeline.first_text_ms))
    told = [f"{name} after {duration_words(ms)}" for name, ms in firsts if ms is not None]
    return " · ".join(told)


def _quiet(timeline: Timeline) -> str:
    return " · ".join(
        f"{duration_words(gap.ms)} from {duration_words(gap.start_ms - timeline.started_ms)}"
        for gap in timeline.gaps()
    )


def _speed(timeline: Timeline) -> str:
    told = pace(timeline)
    kinds = (("reasoning", told.reasoning), ("text", told.text))
    if told.streaming is None:
        return ""
    parts = [f"{name} {_rate_words(rate)}" for name, rate in kinds if rate is not None]
    return " · ".join([f"{_rate_words(told.streaming)} tokens/s while it streams", *parts])


def _rate_words(rate: float) -> str:
    return f"{rate:.1f}" if rate < 9.95 else count_words(rate)


def _end(timeline: Timeline) -> Fact:
    if timeline.error is not None:
        code = f" ({timeline.error.code})" if timeline.error.code else ""
        words = f"{timeline.error.category}: {timeline.error.message}{code}"
        return Fact("end", words, is_bad=True)
    if timeline.finish is None:
        return Fact("end", "cut off: nothing told how it ended", is_bad=True)
    return Fact("end", str(timeline.finish))

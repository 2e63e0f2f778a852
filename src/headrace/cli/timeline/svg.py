"""Draws a timeline as a stand-alone SVG picture for light and dark backgrounds.

Its size is bounded: lanes, runs per lane and points of a curve are limited.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections.abc import Iterator
from html import escape
from itertools import accumulate

from headrace.cli.terminal.safe_text import fit, visible, wrap_text
from headrace.cli.timeline import layout
from headrace.cli.timeline.layout import Fact, Run, Scale, duration_words
from headrace.timeline.lane import Lane, lanes
from headrace.timeline.pulse import Pulse
from headrace.timeline.span import total
from headrace.timeline.timeline import Timeline

WIDTH = 720
_EDGE = 24
_PLOT_X, _PLOT_END = 168, 504
_NUMBER_XS = (576, 638, WIDTH - _EDGE)
_NAMES = ("time", "chars", "chars/s")
_TITLE_Y, _AXIS_Y, _LANES_Y = 40, 76, 88
_LANE, _BAR, _HEADING, _LINE = 30, 18, 24, 20
# Labels with hours are wider.
_TICKS, _HOUR_TICKS, _HOUR_MS = 7, 5, 3_600_000
_FACT_LINES = 3
_MAX_CHARS = 400
# Names are monospaced: 0.6 em per column. Other text is narrower on average, but not in capitals.
_NAME_COLUMN, _WORD_COLUMN = 7.5, 7.2
_SIZE, _TITLE_SIZE = 12.5, 15.0
_NARROW, _BROAD = frozenset(" .,:;'|!iljftI()[]/·-"), frozenset("mwMW@%…—")
# More runs than this are drawn on a coarser grid.
_MAX_RUNS = 120
_COARSE = 4
# The curve inside a bar has a point every few pixels, smoothed over its neighbors.
_BIN = 4
_SHARES = (1, 2, 3, 2, 1)
# Characters that XML forbids and that `visible` leaves.
_NO_XML = {0xFFFE: "", 0xFFFF: ""}

_STYLE = """\
    text { font-size: 12.5px; fill: #1b1d21; font-variant-numeric: tabular-nums; }
    .paper { fill: #fbfaf7; }
    .title { font-size: 15px; font-weight: 600; }
    .name { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
monospace; }
    .soft { fill: #64666a; }
    .tick { text-anchor: middle; }
    .number, .took { text-anchor: end; }
    .rule { stroke: #1b1d21; stroke-opacity: 0.1; }
    .quiet { fill: #1b1d21; fill-opacity: 0.045; }
    .reasoning { fill: #0f766e; }
    .tool, .media, .opaque { fill: #a67a2e; }
    .call { fill: #a67a2e; fill-opacity: 0.4; }
    .text { fill: #3c4250; }
    .ground { fill-opacity: 0.28; }
    .error { fill: #b3261e; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e8e6e1; }
      .paper { fill: #121416; }
      .soft { fill: #a3a29f; }
      .rule { stroke: #e8e6e1; stroke-opacity: 0.14; }
      .quiet { fill: #e8e6e1; fill-opacity: 0.06; }
      .reasoning { fill: #5eead4; }
      .tool, .call, .media, .opaque { fill: #e0b25c; }
      .text { fill: #c9ccd4; }
      .error { fill: #ff8a80; }
    }"""
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, \
Arial, 'DejaVu Sans', sans-serif">
  <title>{title}</title>
  <desc>{about}</desc>
  <style>
{style}
  </style>
  <rect class="paper" width="{width}" height="{height}" rx="10"/>
"""


def timeline_svg(timeline: Timeline) -> str:
    """Return the picture as text."""
    return _Picture(timeline).svg()


class _Picture:
    """Draws from top to bottom; `_y` is the position of the next element."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        every = lanes(timeline)
        self._lanes = layout.shown_lanes(every)
        self._hidden = len(every) - len(self._lanes)
        self._scale = Scale(timeline.started_ms, timeline.duration_ms, _PLOT_END - _PLOT_X)
        self._y = _LANES_Y

    def svg(self) -> str:
        rows = [line for row in self._rows() for line in row]
        lanes_end = self._y
        foot = list(self._foot())
        shapes = [*self._title(), *self._quiet(lanes_end), *self._axis(lanes_end), *rows, *foot]
        head = _HEAD.format(
            width=WIDTH,
            height=self._y,
            title=_safe(f"Timeline of {fit(layout.title(self._timeline), 200)}"),
            about=_safe(_about(self._timeline)),
            style=_STYLE,
        )
        return head + "".join(f"  {shape}\n" for shape in shapes) + "</svg>\n"

    def _title(self) -> Iterator[str]:
        took = duration_words(self._timeline.duration_ms)
        room = WIDTH - 2 * _EDGE - _WORD_COLUMN * (len(took) + 2)
        yield _text(_EDGE, _TITLE_Y, _cut(layout.title(self._timeline), room, _TITLE_SIZE), "title")
        yield _text(WIDTH - _EDGE, _TITLE_Y, took, "took")

    def _axis(self, bottom: int) -> Iterator[str]:
        duration_ms = self._timeline.duration_ms
        for at_ms in layout.ticks(duration_ms, _TICKS if duration_ms < _HOUR_MS else _HOUR_TICKS):
            x = _PLOT_X + self._scale.cell(self._scale.start_ms + at_ms)
            yield f'<path class="rule" d="M{x} {_AXIS_Y + 6}V{bottom}"/>'
            yield _text(x, _AXIS_Y, layout.tick_words(at_ms, duration_ms), "soft tick")
        for x, name in zip(_NUMBER_XS, _NAMES, strict=True):
            yield _text(x, _AXIS_Y, name, "soft number")

    def _quiet(self, bottom: int) -> Iterator[str]:
        for gap in self._timeline.gaps():
            start, end = self._scale.cell(gap.start_ms), self._scale.cell(gap.end_ms)
            words = f"nothing came for {duration_words(gap.ms)}"
            yield (
                f'<rect class="quiet" x="{_PLOT_X + start}" y="{_AXIS_Y + 6}"'
                f' width="{end - start}" height="{bottom - _AXIS_Y - 6}">'
                f"<title>{words}</title></rect>"
            )

    def _rows(self) -> Iterator[list[str]]:
        for lane, heading in zip(self._lanes, layout.headings(self._lanes), strict=True):
            if heading is not None:
                self._y += _HEADING
                yield [_text(_EDGE, self._y - 6, _cut(heading, WIDTH - 2 * _EDGE), "soft")]
            yield list(self._row(lane))
            self._y += _LANE

    def _row(self, lane: Lane) -> Iterator[str]:
        top = self._y + (_LANE - _BAR) // 2
        base = top + _BAR - 5
        room = int((_PLOT_X - _EDGE - 8) / _NAME_COLUMN)
        yield _text(_EDGE, base, fit(lane.label or lane.kind, room), _label_class(lane))
        rates = None if lane.pulse is None else _rates(lane.pulse, self._scale)
        for run in _bounded_runs(lane, self._scale):
            yield _bar(lane, run, top)
            if rates is not None:
                yield _curve(lane, rates, run, top)
        for x, number in zip(_NUMBER_XS, layout.lane_numbers(lane), strict=True):
            if number:
                yield _text(x, base, number, "number")

    def _foot(self) -> Iterator[str]:
        self._y += 12
        yield f'<path class="rule" d="M{_EDGE} {self._y}H{WIDTH - _EDGE}"/>'
        self._y += 6
        for fact in layout.facts(self._timeline, self._hidden):
            yield from self._fact(fact)
        self._y += _EDGE - 6

    def _fact(self, fact: Fact) -> Iterator[str]:
        room = WIDTH - _EDGE - _PLOT_X
        yield _text(_EDGE, self._y + _LINE, fact.label, "soft")
        for line in wrap_text(fact.words, int(room / _WORD_COLUMN), _FACT_LINES):
            self._y += _LINE
            yield _text(_PLOT_X, self._y, _cut(line, room), "error" if fact.is_bad else "")


def _label_class(lane: Lane) -> str:
    return "name" if lane.kind == "tool" else ""


def _bounded_runs(lane: Lane, scale: Scale) -> list[Run]:
    fine = layout.runs(lane.spans, scale, least=3)
    if len(fine) <= _MAX_RUNS:
        return fine
    coarse = layout.runs(lane.spans, scale._replace(cells=scale.cells // _COARSE))
    return [run._replace(start=run.start * _COARSE, end=run.end * _COARSE) for run in coarse]


def _bar(lane: Lane, run: Run, top: int) -> str:
    kind = "error" if run.is_error else run.kind
    # The bar is the background of the curve.
    classes = f"{kind} ground" if lane.pulse is not None else kind
    return (
        f'<rect class="{classes}" x="{_PLOT_X + run.start}" y="{top}"'
        f' width="{run.end - run.start}" height="{_BAR}" rx="2">'
        f"<title>{_safe(_bar_words(lane, run))}</title></rect>"
    )


def _bar_words(lane: Lane, run: Run) -> str:
    sums = total(run.spans)
    name = fit(lane.label, 40)
    verb = {"call": "arguments", "tool": "running"}.get(run.kind, "")
    many = f"{sums.spans} times" if sums.spans > 1 else ""
    deltas = f" in {sums.deltas:,} deltas" if sums.deltas else ""
    counts = f"{layout.count_words(sums.chars)} characters{deltas}" if sums.chars else ""
    words = (name, verb, "failed" * run.is_error, many, duration_words(sums.ms), counts)
    return " · ".join(filter(None, words))


def _curve(lane: Lane, rates: list[float], run: Run, top: int) -> str:
    bottom = top + _BAR
    first, last = run.start // _BIN, min((run.end - 1) // _BIN, len(rates) - 1)
    heights = [f"{bottom - max(rates[at], 0.06) * _BAR:.1f}" for at in range(first, last + 1)]
    middles = [min(max(at * _BIN + _BIN // 2, run.start), run.end) for at in range(first, last + 1)]
    points = "".join(f"L{_PLOT_X + x} {y}" for x, y in zip(middles, heights, strict=True))
    left, right = _PLOT_X + run.start, _PLOT_X + run.end
    ends = f"M{left} {bottom}V{heights[0]}", f"L{right} {heights[-1]}V{bottom}Z"
    return f'<path class="{lane.kind}" d="{ends[0]}{points}{ends[1]}"/>'


def _rates(pulse: Pulse, scale: Scale) -> list[float]:
    """Return the speed per bin, from 0 to 1.

    Neighbors are averaged, since reads come in bursts, and the square root is used, so that the
    largest burst does not flatten the rest.
    """
    bins = [0] * (scale.cells // _BIN + 1)
    for at, chars in enumerate(pulse.chars):
        middle_ms = scale.start_ms + at * pulse.bin_ms + pulse.bin_ms // 2
        bins[min(scale.cell(middle_ms), scale.cells) // _BIN] += chars
    near = [0, 0, *bins, 0, 0]
    shared = [
        sum(weight * near[at + by] for by, weight in enumerate(_SHARES)) for at in range(len(bins))
    ]
    most = max(shared) or 1
    return [(value / most) ** 0.5 for value in shared]


def _about(timeline: Timeline) -> str:
    told = [f"{fact.label}: {fit(fact.words, 200)}" for fact in layout.facts(timeline)]
    return (
        f"What came over {duration_words(timeline.duration_ms)}. Bars are phases in time; the"
        f" height inside them is how fast it came. {'; '.join(told)}."
    )


def _text(x: int, y: int, words: str, classes: str = "") -> str:
    look = f' class="{classes}"' if classes else ""
    return f'<text x="{x}" y="{y}"{look}>{_safe(words)}</text>'


def _cut(words: str, room: float, size: float = _SIZE) -> str:
    """Cut text to what surely fits, whatever font is used."""
    shown = visible(words[:_MAX_CHARS])
    ends = list(accumulate(size * _em(char) for char in shown))
    if not ends or ends[-1] <= room:
        return shown
    return shown[: bisect(ends, room - size * _em("…"))] + "…"


def _em(char: str) -> float:
    if char in _NARROW:
        return 0.42
    if char in _BROAD or unicodedata.east_asian_width(char) in "WF":
        return 1.05
    return 0.62 if char.islower() or char.isdigit() else 0.78


def _safe(words: str) -> str:
    """Remove characters that XML forbids or that change the reading direction."""
    return escape(visible(words).translate(_NO_XML))

"""Draws a timeline for the terminal: one line per lane on a common scale, and its numbers."""

from __future__ import annotations

from headrace.cli.terminal.output import Paint, Style
from headrace.cli.terminal.safe_text import fit, pad, wrap_text
from headrace.cli.timeline import layout
from headrace.cli.timeline.layout import Fact, Run, Scale, duration_words
from headrace.timeline.lane import Lane, lanes
from headrace.timeline.span import SpanKind
from headrace.timeline.timeline import Timeline

MIN_COLUMNS, MAX_COLUMNS = 12, 200
# A cell has two halves, so that a bar may begin or end in the middle.
_HEAVY = {(True, True): "━", (True, False): "╸", (False, True): "╺"}
_LIGHT = {(True, True): "─", (True, False): "╴", (False, True): "╶"}
_MOMENT = "◆"
_STYLES: dict[SpanKind, Style] = {
    "reasoning": Style.CYAN,
    "call": Style.YELLOW,
    "tool": Style.YELLOW,
    "text": Style.BOLD,
}
_NAMES = ("time", "chars", "per s")
_NUMBER_COLUMNS = 9
_NUMBERS = ((72, 3), (56, 2), (32, 1))
_LABEL_COLUMNS = (9, 20)
_TICK_COLUMNS = 8
_FACT_LINES = 4


def timeline_lines(timeline: Timeline, columns: int, paint: Paint) -> list[str]:
    """Return the lines of the drawing, at most `columns` wide (12 or more)."""
    drawing = _Drawing(timeline, max(columns, MIN_COLUMNS), paint)
    return [*drawing.head(), *drawing.rows(), "", *drawing.foot()]


class _Drawing:
    def __init__(self, timeline: Timeline, columns: int, paint: Paint) -> None:
        self._timeline = timeline
        self._columns = columns
        self._paint = paint
        every = lanes(timeline)
        self._lanes = layout.shown_lanes(every)
        self._hidden = len(every) - len(self._lanes)
        self._label = _label_columns(self._lanes, columns)
        # Narrow terminals get fewer numbers; the time is kept longest.
        self._numbers = next((many for least, many in _NUMBERS if columns >= least), 0)
        cells = columns - self._label - 2 - self._numbers * _NUMBER_COLUMNS
        self._cells = cells
        self._scale = Scale(timeline.started_ms, timeline.duration_ms, 2 * cells)

    def head(self) -> list[str]:
        took = duration_words(self._timeline.duration_ms)
        room = self._columns - len(took) - 2
        if room < 1:
            return [fit(took, self._columns), "", *self._axis()]
        name = self._paint(pad(layout.title(self._timeline), room), Style.BOLD)
        return [f"{name}  {took}", "", *self._axis()]

    def _axis(self) -> list[str]:
        labels, rule = "", ["─"] * self._cells
        for at_ms in layout.ticks(self._timeline.duration_ms, max(self._cells // _TICK_COLUMNS, 3)):
            cell = min(self._scale.cell(self._scale.start_ms + at_ms) // 2, self._cells - 1)
            words = layout.tick_words(at_ms, self._timeline.duration_ms)
            rule[cell] = "┬"
            start = min(cell, self._cells - len(words))
            # A label that would overlap the previous one is left out; its tick stays.
            if start >= 0 and (not labels or len(labels) < start):
                labels = f"{labels:<{start}}{words}"
        names = "".join(f"{name:>{_NUMBER_COLUMNS}}" for name in _NAMES[: self._numbers])
        blank = " " * (self._label + 2)
        return [
            self._paint(f"{blank}{labels:<{self._cells}}{names}", Style.DIM),
            self._paint(f"{blank}{''.join(rule)}", Style.DIM),
        ]

    def rows(self) -> list[str]:
        rows: list[str] = []
        for lane, heading in zip(self._lanes, layout.headings(self._lanes), strict=True):
            if heading is not None:
                rows.append(self._paint(fit(heading, self._columns), Style.DIM))
            rows.append(self._row(lane))
        return rows

    def _row(self, lane: Lane) -> str:
        label = pad(lane.label or lane.kind, self._label)
        shown = layout.lane_numbers(lane)[: self._numbers]
        numbers = "".join(f"{text:>{_NUMBER_COLUMNS}}" for text in shown)
        return f"{label}  {self._bar(lane)}{self._paint(numbers.rstrip(), Style.DIM)}"

    def _bar(self, lane: Lane) -> str:
        bar, end = "", 0
        for run in _whole_cells(layout.runs(lane.spans, self._scale, least=2)):
            start = max(run.start // 2, end)
            signs = "".join(_sign(run, cell) for cell in range(start, (run.end + 1) // 2))
            bar += " " * (start - end) + self._paint(signs, _style(run))
            end = start + len(signs)
        return bar + " " * (self._cells - end)

    def foot(self) -> list[str]:
        return [
            line for fact in layout.facts(self._timeline, self._hidden) for line in self._fact(fact)
        ]

    def _fact(self, fact: Fact) -> list[str]:
        width = self._columns - self._label - 2
        first, *more = wrap_text(fact.words, width, _FACT_LINES)
        label = self._paint(pad(fact.label, self._label), Style.DIM)
        style = Style.RED if fact.is_bad else Style.PLAIN
        blank = " " * self._label
        return [
            f"{label}  {self._paint(first, style)}",
            *(f"{blank}  {self._paint(line, style)}" for line in more),
        ]


def _label_columns(shown: list[Lane], columns: int) -> int:
    least, most = _LABEL_COLUMNS
    longest = max((len(lane.label) for lane in shown), default=least)
    return min(max(least, min(longest, most, columns // 4)), columns // 3)


def _style(run: Run) -> Style:
    return Style.RED if run.is_error else _STYLES.get(run.kind, Style.PLAIN)


def _whole_cells(drawn: list[Run]) -> list[Run]:
    """Resolve cells that two runs share.

    The earlier run keeps the cell, unless it has other cells and the later one has none.
    """
    whole: list[Run] = []
    for run in drawn:
        start = run.start
        if whole and whole[-1].end == start and start % 2:
            is_short = run.end - start == 1
            start += -1 if is_short else 1
            whole[-1] = whole[-1]._replace(end=start)
        whole.append(run._replace(start=start))
    return [run for run in whole if run.end > run.start]


def _sign(run: Run, cell: int) -> str:
    if run.kind in ("media", "opaque"):
        return _MOMENT
    signs = _LIGHT if run.kind == "call" else _HEAVY
    return signs[run.start <= 2 * cell < run.end, run.start <= 2 * cell + 1 < run.end]

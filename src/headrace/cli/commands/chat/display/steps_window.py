"""The window that shows, in a few rows, what the model is thinking and doing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from headrace.cli.commands.chat.step import Other, State, Step, Tool
from headrace.cli.commands.chat.wording import (
    count,
    describe_step,
    duration,
    format_brief,
    format_elapsed,
)
from headrace.cli.terminal.row import Painter, Row, Styled

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_THOUGHT_ROWS = 6
_RUNNING_ROWS = 4
_BAR_CELLS = 12
# Narrower terminals get no progress bars and no hints.
_ROOMY, _TIGHT = 60, 32
_RAIL = "│ "
_MARKS: dict[State, tuple[str, str]] = {
    "running": ("●", "cyan"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "incomplete": ("✗", "yellow"),
    "approval_requested": ("✗", "yellow"),
}
_BOLD = re.compile(r"\*\*(.+?)\*\*|`([^`\n]+)`")


class Window:
    """Draws the window. `tick` advances the spinner, one step per redraw."""

    def __init__(self, painter: Painter, *, shows_reasoning: bool) -> None:
        self._painter = painter
        self._shows_reasoning = shows_reasoning
        self._turn = 0

    def rows(self, steps: Sequence[Step], status: str, ms: float, columns: int) -> list[Row]:
        """Return the status with its seconds, the newest reasoning, and the running tools."""
        running = [one for one in steps if isinstance(one, Tool) and one.state == "running"]
        flow = [one for one in steps if one not in running]
        return [
            self.header(status or "Thinking", ms, columns),
            *self._flow(flow, columns),
            *self._running(running, columns),
        ]

    def header(self, phrase: str, ms: float, columns: int) -> Row:
        """Return the status line with the elapsed time, and a hint how to stop if there is room."""
        self._turn += 1
        sign = _SPINNER[self._turn % len(_SPINNER)]
        time = f" · {format_elapsed(ms)}"
        hint = "  Ctrl-C stops" if columns >= _ROOMY else ""
        room = columns - len(sign) - 1 - len(time) - len(hint)
        said = Text(phrase)
        said.truncate(max(room, 1), overflow="ellipsis")
        return self._painter.line(
            (f"{sign} ", "cyan"),
            (said.plain, "bold"),
            (time, "dim"),
            (hint, "dim"),
            columns=columns,
        )

    def _flow(self, steps: Sequence[Step], columns: int) -> list[Row]:
        rows: list[Row] = []
        for step in reversed(steps):
            if len(rows) >= _THOUGHT_ROWS:
                break
            rows = [*self._step(step, columns), *rows]
        return rows[-_THOUGHT_ROWS:]

    def _step(self, step: Step, columns: int) -> list[Row]:
        if isinstance(step, Tool):
            return [tool_row(self._painter, step, columns)]
        if isinstance(step, Other):
            return self._with_rail(Text(step.words, style="dim italic"), columns)
        if not self._shows_reasoning:
            return []
        return self._with_rail(_dim(step.tail(columns * _THOUGHT_ROWS * 2)), columns)

    def _with_rail(self, text: Text, columns: int) -> list[Row]:
        rail = self._painter.line((_RAIL, "dim"), columns=columns)
        drawn = self._painter.rows(text, columns - len(_RAIL))
        return [Row(f"{rail.text} {row.text}", row.cells + len(_RAIL)) for row in drawn if row.text]

    def _running(self, tools: Sequence[Tool], columns: int) -> list[Row]:
        rows: list[Row] = []
        for tool in tools[:_RUNNING_ROWS]:
            rows.append(tool_row(self._painter, tool, columns))
            if tool.steps and len(tools) <= _RUNNING_ROWS:
                rows.append(self._nested_row(tool.steps, columns))
            if tool.logs.strip() and len(tools) <= _RUNNING_ROWS:
                last = tool.logs.strip().rpartition("\n")[2]
                rows.append(self._painter.line((f"  {last}", "dim"), columns=columns))
        if len(tools) > _RUNNING_ROWS:
            more = f"  and {count(len(tools) - _RUNNING_ROWS, 'more tool')}"
            rows.append(self._painter.line((more, "dim"), columns=columns))
        return rows

    def _nested_row(self, steps: Sequence[Step], columns: int) -> Row:
        """Return the newest step of a sub-agent in one line, and how many there are."""
        counted = f"  {count(len(steps), 'step')}: "
        text = Text(describe_step(steps[-1]))
        text.truncate(max(columns - len(counted), 1), overflow="ellipsis")
        return self._painter.line((counted, "dim"), (text.plain, "dim"), columns=columns)


def tool_row(painter: Painter, tool: Tool, columns: int) -> Row:
    """Return one line for a tool call. If it is too long, its end with the progress is kept."""
    mark, colour = _MARKS[tool.state]
    end = _state(tool, columns)
    told = Text.assemble(*_status_text(tool))
    room = columns - cell_len(f"{mark} {tool.name}") - sum(cell_len(text) for text, _ in end)
    told.truncate(max(room, 1), overflow="ellipsis")
    return painter.line((f"{mark} ", colour), (tool.name, "bold"), told, *end, columns=columns)


def _status_text(tool: Tool) -> list[Styled]:
    asked = format_brief(tool.args if tool.args is not None else tool.args_text)
    parts = [(f" {asked}", "")] if asked else []
    came = format_brief(tool.error if tool.error is not None else tool.result)
    if tool.state != "running" and came:
        parts += [(" → ", "dim"), (came, "red" if tool.error is not None else "")]
    return parts


def _state(tool: Tool, columns: int) -> list[Styled]:
    if tool.state == "incomplete":
        return [(" · no result", "dim")]
    if tool.state == "approval_requested":
        return [(" · not approved", "dim")]
    if tool.state != "running":
        return [] if tool.duration_ms is None else [(f" · {duration(tool.duration_ms)}", "dim")]
    status = [(f" · {tool.status}", "dim")]
    if tool.progress is None:
        return status
    status = status if columns >= _TIGHT else []
    part = min(max(tool.progress, 0.0), 1.0)
    full = round(part * _BAR_CELLS)
    bar = [(" " + "━" * full, "cyan"), ("─" * (_BAR_CELLS - full), "dim")]
    return [*status, *(bar if columns >= _ROOMY else []), (f" {round(part * 100)} %", "dim")]


def _dim(text: str) -> Text:
    """Style reasoning text; only bold titles are recognized."""
    shown = Text(style="dim")
    end = 0
    for found in _BOLD.finditer(text):
        shown.append(text[end : found.start()])
        shown.append(found[1] or found[2], "bold" if found[1] else "")
        end = found.end()
    shown.append(text[end:])
    shown.expand_tabs(4)
    return shown

"""Records as table rows: time, event, part and text."""

from __future__ import annotations

from headrace.cli.terminal.event_text import describe_event
from headrace.cli.terminal.output import Paint, Style
from headrace.cli.terminal.safe_text import fit, visible
from headrace.events import Record, TurnFailed, TurnFinished, UnknownEvent

_NAME_COLUMNS = len("tool_call_args_delta")
_LEFT_COLUMNS = len("   0.000  ") + _NAME_COLUMNS + len("  part  ")
_MIN_COLUMNS = 20
# How a turn ended is never cut; it is short except for an error message.
_TERMINAL = (TurnFinished, TurnFailed)


class Table:
    """Formats rows that fit into a width; only the end of a turn is shown in full."""

    def __init__(self, columns: int, paint: Paint) -> None:
        self._columns = columns
        self._width = max(columns - _LEFT_COLUMNS, _MIN_COLUMNS)
        self._paint = paint

    def heading(self, file: str, framing: str) -> str:
        """Return the line above the rows of one of several files."""
        rule = fit(f"── {file} ({framing})", self._columns)
        return self._paint(rule, Style.BOLD)

    def header(self) -> str:
        """Return the names of the columns."""
        return self._paint(f"{'time s':>8}  {'event':<{_NAME_COLUMNS}}  part", Style.DIM)

    def row(self, record: Record) -> str:
        """Return the row of one record."""
        event = record.event
        style, words = describe_event(event)
        number = getattr(event, "part", None)
        part = "" if number is None else str(number)
        name = fit(_tag(record), _NAME_COLUMNS)
        left = f"{record.at_ms / 1000:8.3f}"
        middle = f"{name:<{_NAME_COLUMNS}}  {part:>4}"
        right = visible(words) if isinstance(event, _TERMINAL) else fit(words, self._width)
        said = f"{middle}  {right}".rstrip()
        return f"{self._paint(left, Style.DIM)}  {self._paint(said, style)}"


def _tag(record: Record) -> str:
    event = record.event
    return event.tag if isinstance(event, UnknownEvent) else str(event.__struct_config__.tag)

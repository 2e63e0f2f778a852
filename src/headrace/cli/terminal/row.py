"""Rows: styled lines of the terminal and their width."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text

# Narrower terminals wrap instead, which stays readable.
_LEAST_COLUMNS = 8


class Row(NamedTuple):
    """One line with its styles, without a line break."""

    text: str
    cells: int


BLANK = Row("", 0)
Styled: TypeAlias = tuple[str, str]
"""A text and its style."""


class Painter:
    """Renders content as rows, in the sixteen colors of the user's terminal or without color."""

    def __init__(self, *, has_colour: bool) -> None:
        self._colours = ColorSystem.STANDARD if has_colour else None
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard",
            legacy_windows=False,
            highlight=False,
            emoji=False,
            markup=False,
        )

    def rows(self, thing: RenderableType, columns: int) -> list[Row]:
        """Render content in rows of at most `columns` columns."""
        options = self._console.options.update(width=max(columns, _LEAST_COLUMNS), height=None)
        lines = self._console.render_lines(thing, options, pad=False)
        return [self._row(line) for line in lines]

    def line(self, *parts: Styled | Text, columns: int) -> Row:
        """Render one row, cut with an ellipsis if it is too wide."""
        text = Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
        text.truncate(max(columns, 1), overflow="ellipsis")
        rows = self.rows(text, columns)
        return rows[0] if rows else BLANK

    def _row(self, line: Iterable[Segment]) -> Row:
        shown = _strip([one for one in line if not one.control])
        text = "".join(self._paint(one) for one in shown)
        return Row(text, Segment.get_line_length(shown))

    def _paint(self, segment: Segment) -> str:
        if segment.style is None or self._colours is None:
            return segment.text
        return segment.style.render(segment.text, color_system=self._colours)


def _strip(line: list[Segment]) -> list[Segment]:
    """Remove spaces at the end, which a narrower terminal would wrap."""
    while line and not line[-1].text.strip() and _is_bare(line[-1]):
        line.pop()
    if line and _is_bare(line[-1]):
        line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
    return line


def _is_bare(segment: Segment) -> bool:
    style = segment.style
    return style is None or not (style.bgcolor or style.underline or style.reverse)

"""Rows: what stands in one line of the terminal, and how wide it is."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.text import Text

# Narrower is not drawn: it wraps then, and stays readable.
_LEAST_COLUMNS = 8


class Row(NamedTuple):
    """One line, with its colours, without its end."""

    text: str
    cells: int


BLANK = Row("", 0)
Styled: TypeAlias = tuple[str, str]
"""A text and its style."""


class Painter:
    """Draws things as rows. Sixteen colours, those that the user has chosen for the terminal; or
    none."""

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
        """The thing in rows of at most so many columns."""
        options = self._console.options.update(width=max(columns, _LEAST_COLUMNS), height=None)
        lines = self._console.render_lines(thing, options, pad=False)
        return [self._row(line) for line in lines]

    def line(self, *parts: Styled | Text, columns: int) -> Row:
        """One row of these, cut with an ellipsis where it is wider."""
        text = Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
        text.truncate(max(columns, 1), overflow="ellipsis")
        rows = self.rows(text, columns)
        return rows[0] if rows else BLANK

    def _row(self, line: Iterable[Segment]) -> Row:
        shown = _stripped([one for one in line if not one.control])
        text = "".join(self._painted(one) for one in shown)
        return Row(text, Segment.get_line_length(shown))

    def _painted(self, segment: Segment) -> str:
        if segment.style is None or self._colours is None:
            return segment.text
        return segment.style.render(segment.text, color_system=self._colours)


def _stripped(line: list[Segment]) -> list[Segment]:
    """Without blanks at the end, which a narrower terminal would wrap."""
    while line and not line[-1].text.strip() and _is_bare(line[-1]):
        line.pop()
    if line and _is_bare(line[-1]):
        line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
    return line


def _is_bare(segment: Segment) -> bool:
    style = segment.style
    return style is None or not (style.bgcolor or style.underline or style.reverse)

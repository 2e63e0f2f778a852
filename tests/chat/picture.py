"""A terminal's screen as an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

import pyte

CELL, LINE, MARGIN, BAR, GAP = 8.4, 19, 18, 34, 16
_COLOURS: Final = {
    "default": "#d6dbe4",
    "black": "#5b6472",
    "red": "#f0788c",
    "green": "#8fce9b",
    "brown": "#e5c07b",
    "yellow": "#e5c07b",
    "blue": "#82aaf5",
    "magenta": "#c79bf2",
    "cyan": "#63c7d8",
    "white": "#ffffff",
    "brightblack": "#7b8494",
    "brightred": "#f58fa0",
    "brightgreen": "#a5dcae",
    "brightbrown": "#efd08f",
    "brightyellow": "#efd08f",
    "brightblue": "#9dbdf8",
    "brightmagenta": "#d6b3f7",
    "brightcyan": "#85d6e4",
    "brightwhite": "#ffffff",
}
_STYLE: Final = """\
text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
       white-space: pre; }
.bold { font-weight: 600 } .dim { opacity: .62 } .italic { font-style: italic }
.title { font: 13px system-ui, sans-serif; fill: #8a93a3 }
"""


def picture(screens: Sequence[tuple[str, Sequence[Any]]], columns: int) -> str:
    """Screens one below the other, each a window with its title."""
    width = columns * CELL + 2 * MARGIN
    windows, top = "", 0.0
    for title, rows in screens:
        height = len(rows) * LINE + 2 * MARGIN + BAR
        window = _window(title, rows, width, height)
        windows += f'<g transform="translate(0 {top:g})">{window}</g>\n'
        top += height + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {top - GAP:g}"'
        f' width="{width:g}" height="{top - GAP:g}" role="img">\n<style>{_STYLE}</style>\n'
        f"{windows}</svg>\n"
    )


def rows_of(screen: pyte.Screen) -> list[dict[int, Any]]:
    """The cells of a screen, to be kept."""
    return [
        {at: screen.buffer[line][at] for at in range(screen.columns)}
        for line in range(screen.lines)
    ]


def _window(title: str, rows: Sequence[Any], width: float, height: float) -> str:
    dots = "".join(
        f'<circle cx="{20 + 18 * at}" cy="{BAR / 2:g}" r="5.5" fill="{fill}"/>'
        for at, fill in enumerate(("#ec6a5e", "#f4bf4f", "#61c554"))
    )
    text = "".join(
        f"{part}\n"
        for line, row in enumerate(rows)
        for part in _runs(row, MARGIN + BAR + line * LINE + 10)
    )
    return (
        f'<rect width="{width:g}" height="{height:g}" rx="10" fill="#1d212b"/>'
        f'<rect width="{width:g}" height="{BAR}" rx="10" fill="#262b37"/>{dots}'
        f'<text class="title" x="{width / 2:g}" y="22" text-anchor="middle">'
        f"{escape(title)}</text>\n{text}"
    )


def _runs(row: dict[int, Any], y: float) -> Iterator[str]:
    """Texts of one look. A wide character takes two cells, the second of which is empty."""
    at, cells = 0, list(row.values())
    while at < len(cells):
        look, start, text = _look(cells[at]), at, ""
        while at < len(cells) and _look(cells[at]) == look:
            text += cells[at].data
            at += 1
        if text.strip():
            blanks = len(text) - len(text.lstrip(" "))
            x = MARGIN + (start + blanks) * CELL
            length = (at - start - blanks - (len(text) - len(text.rstrip(" ")))) * CELL
            yield (
                f'<text x="{x:g}" y="{y + 4:g}" {look} textLength="{length:g}"'
                f' lengthAdjust="spacingAndGlyphs">{escape(text.strip(" "))}</text>'
            )


def _look(cell: Any) -> str:
    # What blinks is dim; see `Screen`.
    known = (("bold", "bold"), ("italics", "italic"), ("blink", "dim"))
    names = " ".join(look for name, look in known if getattr(cell, name))
    fill = _COLOURS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else _COLOURS["default"])
    return f'fill="{fill}"' + (f' class="{names}"' if names else "")

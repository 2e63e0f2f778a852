"""Makes text safe for one line of a terminal and cuts it to a width.

Text of a model or a file name could otherwise move the cursor, rename the window, write to the
clipboard or change the reading direction.
"""

from __future__ import annotations

import unicodedata

_ELLIPSIS = "…"
_NEWLINE = "⏎"
_TAB = "⇥"
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "␡"
# Limit of combining marks per column, since a letter may carry thousands.
_MAX_CHARS_PER_COLUMN = 8

# Line separators and direction marks, in addition to control characters.
_STEERING = (0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))


def _table() -> dict[int, str]:
    table = {code: chr(_CONTROL_PICTURES + code) for code in range(0x20)}
    table |= {0x09: _TAB, 0x0A: _NEWLINE, 0x7F: _DELETE_PICTURE}
    table |= {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
    table |= {code: f"\\u{code:04x}" for code in _STEERING}
    return table


_VISIBLE = _table()


def visible(text: str) -> str:
    """Return the text with control characters shown as symbols."""
    shown = text.replace("\r\n", "\n").translate(_VISIBLE)
    return shown if shown.isascii() else shown.encode("utf-8", "replace").decode()


def fit(text: str, columns: int) -> str:
    """Return safe text, cut with an ellipsis if it is wider than `columns`."""
    start = text[: columns * _MAX_CHARS_PER_COLUMN]
    shown = visible(start)
    if len(start) == len(text) and _columns_end(shown, columns) == len(shown):
        return shown
    return shown[: _columns_end(shown, columns - 1)] + _ELLIPSIS


def pad(text: str, columns: int) -> str:
    """Return safe text of exactly `columns` columns, cut or filled with spaces."""
    shown = fit(text, columns)
    return shown + " " * (columns - columns_of(shown))


def columns_of(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def wrap_text(text: str, columns: int, lines: int) -> list[str]:
    """Return safe text in at most `lines` lines, broken at spaces; the last line is cut."""
    rest = visible(text[: columns * lines * _MAX_CHARS_PER_COLUMN]).strip()
    made: list[str] = []
    while len(made) < lines - 1 and (end := _columns_end(rest, columns)) < len(rest):
        blank = rest.rfind(" ", 0, end + 1)
        cut = blank if blank > 0 else max(end, 1)
        made.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*made, fit(rest, columns)] if rest else made


def _columns_end(text: str, columns: int) -> int:
    """Return how many characters fit into the columns."""
    if text.isascii():
        return min(len(text), columns)
    used = 0
    for at, char in enumerate(text):
        used += _columns(char)
        if used > columns:
            return at
    return len(text)


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

"""Makes foreign text safe for a terminal, and cuts it to a width.

Text of a model, tool or server, or a file name, could otherwise move the cursor, rename the window,
write to the clipboard or change the reading direction. `safe()` removes what does that; `visible()`
shows it.
"""

from __future__ import annotations

import re
import unicodedata

_ELLIPSIS = "…"
# Limit of combining marks per column, since a letter may carry thousands.
_MAX_CHARS_PER_COLUMN = 8

# Complete sequences are removed as a whole. Of an incomplete one the control character is removed,
# and the rest has no effect.
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x9b[0-?]*[ -/]*[@-~]"
    # OSC, DCS and the like. None begins inside of another one: a text of nothing but beginnings
    # would otherwise take time that grows with the square of its length.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]{0,65536}"
    r"(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\^-~]"  # short ones
)
# Marks that change the reading direction.
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_REMOVED = re.compile(
    rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONS}"
    r"\u2060\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n"})
_SHOWN = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{_DIRECTIONS}]")
_PICTURES = {"\t": "⇥", "\n": "⏎", "\x7f": "␡"}


def safe(text: str) -> str:
    """Return the text without anything that controls a terminal."""
    if text.isascii() and text.isprintable():
        return text
    bare = _SEQUENCE.sub("", text).translate(_BREAKS)
    shown = _REMOVED.sub("", bare)
    return _encodable(shown)


def one_line(text: str, limit: int = 2_000) -> str:
    """Return safe text in one line of limited length."""
    return " ".join(safe(text[:limit]).split())


def visible(text: str) -> str:
    """Return the text with control characters shown as symbols."""
    return _encodable(_SHOWN.sub(_picture, text.replace("\r\n", "\n")))


def _picture(match: re.Match[str]) -> str:
    char, code = match[0], ord(match[0])
    if code < 0x80:
        return _PICTURES.get(char, chr(0x2400 + code))
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which cannot be written."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def visible_lines(text: str) -> str:
    """Return the text with control characters shown as symbols, except line breaks and tabs."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def error_text(error: Exception, what: str | None = None) -> str:
    """Return what an error says about `what`, by default about the file that it names."""
    text = str(error)
    if isinstance(error, OSError):
        what, text = what or error.filename, error.strerror or text
    return f"{what}: {text}" if what else text


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

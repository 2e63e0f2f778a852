"""The output of commands: colors, the width of a line, and symbols that the encoding has."""

from __future__ import annotations

import io
import os
import sys
from enum import Enum
from typing import TextIO

PIPE_COLUMNS = 80
# ASCII replacements of the same width.
_PLAIN = str.maketrans("━╸╺─╴╶◆┬…·›×✓✗“”", '===---*+~->x+X""')


class Style(Enum):
    """A text style; the value is its SGR code."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"
    BOLD_CYAN = "1;36"


class Paint:
    """Styles text, or leaves it as it is."""

    def __init__(self, is_on: bool) -> None:
        self._is_on = is_on

    def __call__(self, text: str, style: Style) -> str:
        if not self._is_on or not text or style is Style.PLAIN:
            return text
        return f"\x1b[{style.value}m{text}\x1b[0m"


def wants_color(choice: str, out: TextIO) -> bool:
    """Return whether to use color on `out`.

    An explicit choice wins; otherwise color is used on a terminal unless `NO_COLOR`
    (https://no-color.org) is set.
    """
    if choice != "auto":
        return choice == "always"
    return is_terminal(out) and not os.environ.get("NO_COLOR")


def is_terminal(out: TextIO) -> bool:
    """Return whether `out` is a terminal that understands escape codes."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def terminal_columns(out: TextIO, in_a_pipe: int = PIPE_COLUMNS) -> int:
    """Return the width from the variable COLUMNS, or else of the terminal."""
    try:
        told = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        told = 0
    if told > 0:
        return told
    return _measure(out) if out.isatty() else in_a_pipe


def _measure(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or PIPE_COLUMNS
    except OSError:
        return PIPE_COLUMNS


def print_lines(*lines: str, out: TextIO | None = None) -> None:
    """Print lines at once, with symbols that `out` (default: standard output) can encode."""
    target = out or sys.stdout
    text = "".join(f"{line}\n" for line in lines)
    target.write(text if can_write(text, target) else _encodable(text, target))
    target.flush()


def plain_signs(text: str) -> str:
    """Replace symbols by ASCII; other text stays as it is."""
    return text.translate(_PLAIN)


def can_write(text: str, out: TextIO) -> bool:
    """Return whether the encoding of `out` has all characters of the text."""
    try:
        text.encode(out.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def forgive(*outs: TextIO) -> None:
    """Write a question mark, from now on, for characters that the encoding does not have."""
    for out in outs:
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="replace")


def _encodable(text: str, out: TextIO) -> str:
    encoding = out.encoding or "ascii"
    return plain_signs(text).encode(encoding, "replace").decode(encoding)


def silence_stdout() -> None:
    """Replace stdout after its reader has gone, since the interpreter's last flush would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

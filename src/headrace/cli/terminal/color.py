"""Terminal colors, and whether to use them."""

from __future__ import annotations

import os
from enum import Enum
from typing import TextIO


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

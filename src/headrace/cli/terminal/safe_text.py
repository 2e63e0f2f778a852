"""Removes everything from text that could control a terminal.

Text of a model, tool or server could otherwise move the cursor, rename the window, write to the
clipboard or change the reading direction. Line breaks, tabs and joined letters stay.
"""

from __future__ import annotations

import re

# Complete sequences are removed as a whole. Of an incomplete one the control character is removed,
# and the rest has no effect.
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x9b[0-?]*[ -/]*[@-~]"
    # OSC, DCS and the like
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,65536}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-Z\\^-~]"  # short ones
)
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n"})


def safe(text: str) -> str:
    """Return the text without anything that controls a terminal."""
    if text.isascii() and text.isprintable():
        return text
    bare = _SEQUENCE.sub("", text).translate(_BREAKS)
    shown = _STEERING.sub("", bare)
    return shown if shown.isascii() else shown.encode("utf-8", "replace").decode()


def one_line(text: str, limit: int = 2_000) -> str:
    """Return safe text in one line of limited length."""
    return " ".join(safe(text[:limit]).split())

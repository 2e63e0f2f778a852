"""Text that a terminal may be given. What a model, a tool or a server says is foreign: raw, it
could move the cursor, rename the window, write to the clipboard or turn the reading direction.

Lines and tabs stay, and letters that join; everything else that steers is taken out."""

from __future__ import annotations

import re

# Sequences that are whole go as a whole, so that nothing of them is left to be read; of one that
# is cut, the control character goes, and what is left steers nothing.
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
    """The text without anything that steers a terminal."""
    if text.isascii() and text.isprintable():
        return text
    bare = _SEQUENCE.sub("", text).translate(_BREAKS)
    shown = _STEERING.sub("", bare)
    return shown if shown.isascii() else shown.encode("utf-8", "replace").decode()


def one_line(text: str, limit: int = 2_000) -> str:
    """The same in one line, and not endless."""
    return " ".join(safe(text[:limit]).split())

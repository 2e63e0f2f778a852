"""Prints lines on any terminal, replacing symbols that its encoding does not have."""

from __future__ import annotations

import io
import sys
from typing import TextIO

# ASCII replacements of the same width.
_PLAIN = str.maketrans("━╸╺─╴╶◆┬…·›×✓✗“”", '===---*+~->x+X""')


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

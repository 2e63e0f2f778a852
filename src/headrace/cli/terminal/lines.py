"""Lines for any terminal: signs that it cannot write are written in others."""

from __future__ import annotations

import io
import sys
from typing import TextIO

# The same columns in ASCII.
_PLAIN = str.maketrans("━╸╺─╴╶◆┬…·›×✓✗“”", '===---*+~->x+X""')


def print_lines(*lines: str, out: TextIO | None = None) -> None:
    """Print them at once, in signs that `out` (standard output) can write."""
    target = out or sys.stdout
    text = "".join(f"{line}\n" for line in lines)
    target.write(text if can_write(text, target) else _written(text, target))
    target.flush()


def plain_signs(text: str) -> str:
    """The same in ASCII signs; foreign words stay as they are."""
    return text.translate(_PLAIN)


def can_write(text: str, out: TextIO) -> bool:
    """Whether the encoding of `out` has all of it."""
    try:
        text.encode(out.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def forgive(*outs: TextIO) -> None:
    """From now on, what an encoding does not have is written as a question mark."""
    for out in outs:
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(errors="replace")


def _written(text: str, out: TextIO) -> str:
    encoding = out.encoding or "ascii"
    return plain_signs(text).encode(encoding, "replace").decode(encoding)

"""The width of the output."""

from __future__ import annotations

import os
from typing import TextIO

PIPE_COLUMNS = 80


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

"""How wide what we print may be."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

PIPE_COLUMNS = 80


def terminal_columns(out: TextIO, in_a_pipe: int = PIPE_COLUMNS) -> int:
    """The width of the terminal; in a pipe, what the variable COLUMNS says of it."""
    if out.isatty():
        return shutil.get_terminal_size().columns
    try:
        told = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        return in_a_pipe
    return told if told > 0 else in_a_pipe

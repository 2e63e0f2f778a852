"""A progress bar on stderr for many files."""

from __future__ import annotations

import sys
import time

from headrace.cli.terminal.output import is_terminal, terminal_columns
from headrace.cli.terminal.safe_text import fit, visible

_MIN_FILES = 20
_PAUSE_S = 0.1
_BAR_COLUMNS = 20
_ERASE = "\r\x1b[2K"


class Progress:
    """Shows how many of `total` files are done, and prints messages past the bar.

    There is no bar for a few files, if stderr is not a terminal, or if stdout is one.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._is_shown = (
            total > _MIN_FILES and is_terminal(sys.stderr) and not is_terminal(sys.stdout)
        )
        self._drawn_s = float("-inf")

    def show(self, done: int, file: str) -> None:
        """Show that `file` is being processed and `done` files are finished."""
        now_s = time.monotonic()
        if not self._is_shown or now_s - self._drawn_s < _PAUSE_S:
            return
        self._drawn_s = now_s
        filled = _BAR_COLUMNS * done // self._total
        bar = "━" * filled + "─" * (_BAR_COLUMNS - filled)
        line = f"decoding {bar} {done}/{self._total} {file}"
        columns = terminal_columns(sys.stderr) - 1
        print(_ERASE + fit(line, columns), end="", file=sys.stderr, flush=True)

    def tell(self, message: str) -> None:
        """Print a message on a line of its own."""
        self.clear()
        print(visible(message), file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the bar."""
        if self._is_shown and self._drawn_s > float("-inf"):
            self._drawn_s = float("-inf")
            print(_ERASE, end="", file=sys.stderr, flush=True)

"""The live region: the last rows of the terminal, redrawn in place.

What is printed above it is never touched again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from headrace.cli.terminal.row import Row

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
# Terminals that support synchronized output show the whole change at once; others ignore it
# (https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036).
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"


class Region:
    """Draws at most as many rows as the screen has.

    `reflows` says whether the terminal wraps long rows again when it becomes narrower. If that is
    unknown, too few rows are erased rather than too many.
    """

    def __init__(self, out: TextIO, *, reflows: bool) -> None:
        self._out = out
        self._reflows = reflows
        self._rows: list[Row] = []
        self._columns = 0
        self._is_hidden = False

    @property
    def is_empty(self) -> bool:
        return not self._rows

    def size(self) -> os.terminal_size:
        """Return the current size of the terminal."""
        try:
            found = os.get_terminal_size(self._out.fileno())
        except OSError:
            found = os.terminal_size((0, 0))
        return os.terminal_size((found.columns or 80, found.lines or 24))

    def draw(self, above: Sequence[Row], rows: Sequence[Row]) -> None:
        """Print `above` for good, and the region below it."""
        columns, lines = self.size()
        kept = list(rows)[-(lines - 1) :] if lines > 1 else []
        if not above and kept == self._rows and columns == self._columns:
            return
        printed = "".join(f"{row.text}\x1b[K\r\n" for row in above)
        drawn = "\r\n".join(f"{row.text}\x1b[K" for row in kept)
        hidden = "" if self._is_hidden or not kept else _HIDE
        shown = _SHOW if self._is_hidden and not kept else ""
        self._is_hidden = bool(kept)
        back = self._back(columns, lines)
        self._out.write(f"{_BEGIN}{hidden}{back}{printed}{drawn}\x1b[J{shown}{_END}")
        self._out.flush()
        self._rows, self._columns = kept, columns

    def clear(self) -> None:
        """Erase the region."""
        if self._rows:
            self.draw((), ())

    def _back(self, columns: int, lines: int) -> str:
        """Move to the first cell of the region, wherever a resize has put it."""
        if not self._rows:
            return ""
        taken = len(self._rows)
        if self._reflows and columns < self._columns:
            taken = sum(max(1, -(-row.cells // columns)) for row in self._rows)
        up = min(taken, lines) - 1
        return f"\r\x1b[{up}A" if up else "\r"


def reflows(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal wraps rows again when it becomes narrower, as most do."""
    old = ("rxvt", "linux", "screen", "vt")
    is_xterm = "XTERM_VERSION" in environment
    return not is_xterm and not environment.get("TERM", "").startswith(old)

"""Finds where a JSON text ends that comes in pieces."""

from __future__ import annotations

import re

_MARKS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


class JSONExtent:
    """Follows a JSON text fragment by fragment up to the bracket or quote that closes it, so that
    it need not be parsed again and again."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_string = False
        self._is_escaped = False
        self.is_closed = False

    def feed(self, text: str) -> None:
        """Take more of the text."""
        start = 1 if self._is_escaped and text else 0
        self._is_escaped = self._is_escaped and not text
        for match in _MARKS.finditer(text, start):
            self._take_mark(match[0])

    def _take_mark(self, mark: str) -> None:
        if mark[0] == "\\":
            self._is_escaped = len(mark) == 1
        elif mark == '"':
            self._is_string = not self._is_string
            self._close()
        elif self._is_string:
            return
        elif mark in "{[":
            self._depth += 1
        else:
            self._depth -= 1
            self._close()

    def _close(self) -> None:
        self.is_closed = self.is_closed or (self._depth <= 0 and not self._is_string)

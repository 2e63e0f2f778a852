"""Status markers that a model was asked to write into its reasoning: `[STATUS: …]`."""

from __future__ import annotations

import re

MAX_MARKER_CHARS = 200
"""Past this it is no marker."""
MARKER = re.compile(r"\[STATUS:[ \t]*([^\[\]\n]*?)[ \t]*\]")
_PREFIX = "[STATUS:"


class MarkerRemover:
    """Reasoning as it streams, without its markers. What may still become one is held
    back, never more than `MAX_MARKER_CHARS`. Behind a backtick it is code, and none."""

    def __init__(self) -> None:
        self.last = "\n"
        """The latest text that was said. A marker after a space, or at the beginning, takes
        the space behind it along, so that it leaves no second one."""
        self.is_busy = False
        """Whether the next text cannot simply be passed on."""
        self._held = ""
        self._is_swallowing = False

    def feed(self, text: str) -> str:
        """The text that is certain."""
        if "[" not in text and not self.is_busy:
            self.last = text or self.last
            return text
        cleaned = self._cleaned(self._held + text)
        self.is_busy = self._is_swallowing or bool(self._held)
        return cleaned

    def close(self) -> str:
        """The reasoning has ended: what was held back is text."""
        rest = self._held
        self.__init__()  # type: ignore[misc]
        return rest

    def _cleaned(self, text: str) -> str:
        self._held = ""
        pieces: list[str] = []
        start = 0
        while start < len(text):
            start = self._swallowed(text, start)
            opening = text.find("[", start)
            if opening < 0:
                self._say(pieces, text[start:])
                break
            self._say(pieces, text[start:opening])
            start = self._bracket(pieces, text, opening)
        return "".join(pieces)

    def _swallowed(self, text: str, start: int) -> int:
        while self._is_swallowing and start < len(text):
            if not text[start].isspace():
                self._is_swallowing = False
                break
            start += 1
        return start

    def _bracket(self, pieces: list[str], text: str, opening: int) -> int:
        """Past the bracket that opens here: removed, held back, or said. Returns where to
        go on."""
        if self.last[-1:] == "`":
            self._say(pieces, "[")
            return opening + 1
        marker = MARKER.match(text, opening)
        if marker is not None and marker.end() - opening <= MAX_MARKER_CHARS:
            self._is_swallowing = self.last[-1:].isspace()
            return marker.end()
        if _may_become_marker(text[opening : opening + MAX_MARKER_CHARS + 1]):
            self._held = text[opening:]
            return len(text)
        self._say(pieces, "[")
        return opening + 1

    def _say(self, pieces: list[str], text: str) -> None:
        if text:
            pieces.append(text)
            self.last = text


def _may_become_marker(text: str) -> bool:
    if len(text) > MAX_MARKER_CHARS:
        return False
    if len(text) <= len(_PREFIX):
        return _PREFIX.startswith(text)
    inside = text[1:]
    return text.startswith(_PREFIX) and not any(mark in inside for mark in "[]\n")

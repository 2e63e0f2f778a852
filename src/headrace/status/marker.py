"""Status markers that a model was asked to write into its reasoning: `[STATUS: …]`."""

from __future__ import annotations

import re

MAX_MARKER_CHARS = 200
"""Longest marker; anything longer is treated as text."""
_MARKER = re.compile(r"\[STATUS:([^\[\]\n]*)\]")
_PREFIX = "[STATUS:"
# A bracket is a token only if a marker may begin with it. Other text is passed on in one piece, so
# that it costs little however long it is.
_OPENING = r"\[(?=STATUS:|(?:S(?:T(?:A(?:T(?:US?)?)?)?)?)?\Z)"
_TOKEN = re.compile(_OPENING + r"|`+")
# In a line with backticks, its end is a token too.
_TOKEN_AFTER_TICKS = re.compile(_OPENING + r"|`+|\n")
_FENCE_TICKS = 3
MAX_TOKENS = 10_000
"""Most backticks, and brackets that may begin a marker, of one reader; after that, all is text. A
provider that sends nothing else would otherwise keep the server busy."""


class MarkerReader:
    """Separates streamed reasoning into text and status markers.

    Text that may still become a marker is held back, at most `MAX_MARKER_CHARS` of it. Brackets
    inside backticks or code fences are never markers.
    """

    __slots__ = (
        "_begins_line", "_held", "_is_fence", "_is_in_fence", "_run", "_skips_space", "_ticks",
        "_tokens_left", "is_busy", "last",
    )  # fmt: skip

    def __init__(self) -> None:
        self.last = "\n"
        """The latest text that was said. A marker after a space, or at the beginning, takes
        the space behind it along, so that it leaves no second one."""
        self.is_busy = False
        """Whether text without a bracket or a backtick cannot simply be passed on."""
        self._held = ""
        self._tokens_left = MAX_TOKENS
        self._skips_space = False
        self._is_in_fence = False
        # State of the current line: its backticks, and whether it opens or closes a code block.
        self._ticks = 0
        self._run = 0
        self._begins_line = False
        self._is_fence = False

    def feed(self, text: str) -> tuple[str, list[str]]:
        """Return the text that is certain, and the markers that were completed."""
        pieces: list[str] = []
        markers: list[str] = []
        self._read(self._held + text, pieces, markers)
        self.is_busy = bool(self._skips_space or self._held or self._is_in_fence or self._ticks)
        return "".join(pieces), markers

    def close(self) -> str:
        """End the reasoning: return the text that was held back."""
        rest, self._held = self._held, ""
        self._skips_space = self.is_busy = False
        return rest

    def _read(self, text: str, pieces: list[str], markers: list[str]) -> None:
        self._held = ""
        if not self._skips_space and not self._ticks and "[" not in text and "`" not in text:
            # Ten times faster than the pattern, for the megabytes of a long answer.
            self._emit(pieces, text)
            return
        start = 0
        while start < len(text):
            start = self._skip_space(text, start)
            pattern = _TOKEN_AFTER_TICKS if self._ticks else _TOKEN
            token = pattern.search(text, start) if self._tokens_left > 0 else None
            if token is None:
                self._emit(pieces, text[start:])
                return
            self._tokens_left -= len(token[0])
            self._emit(pieces, text[start : token.start()])
            if token[0] == "[":
                start = self._bracket(text, token.start(), pieces, markers)
            else:
                self._follow_code(token[0])
                self._emit(pieces, token[0])
                start = token.end()

    def _skip_space(self, text: str, start: int) -> int:
        while self._skips_space and start < len(text):
            if not text[start].isspace():
                self._skips_space = False
                break
            start += 1
        return start

    def _follow_code(self, token: str) -> None:
        if token == "\n":
            self._is_in_fence ^= self._is_fence
            self._ticks = self._run = 0
            self._is_fence = False
            return
        if self.last[-1:] != "`":
            self._run = 0
            self._begins_line = not self._ticks and not self.last.rpartition("\n")[2].strip()
        before, self._run = self._run, self._run + len(token)
        if before < _FENCE_TICKS <= self._run:
            # A second fence in the same line closes the first.
            self._is_fence = self._begins_line and not self._is_fence
        self._ticks += len(token)

    def _bracket(self, text: str, opening: int, pieces: list[str], markers: list[str]) -> int:
        """Remove a marker, hold back, or emit the bracket. Return the next position."""
        if not self._is_in_fence and self._ticks % 2 == 0:
            marker = _MARKER.match(text, opening, opening + MAX_MARKER_CHARS)
            if marker is not None:
                self._skips_space = self.last[-1:].isspace()
                markers.append(marker[1].strip())
                return marker.end()
            if _may_become_marker(text[opening : opening + MAX_MARKER_CHARS + 1]):
                self._held = text[opening:]
                self._tokens_left += 1
                return len(text)
        self._emit(pieces, "[")
        return opening + 1

    def _emit(self, pieces: list[str], text: str) -> None:
        if text:
            pieces.append(text)
            self.pass_on(text)

    def pass_on(self, text: str) -> None:
        """Note that `text`, which has no bracket or backtick, was emitted.

        Whitespace alone neither starts a line nor undoes its start, however the text was cut.
        """
        if not text.isspace() or "\n" in text:
            self.last = text
            return
        is_begun = bool(self.last.rpartition("\n")[2].strip())
        self.last = ("x" if is_begun else "\n") + text[-1]


def _may_become_marker(text: str) -> bool:
    if len(text) > MAX_MARKER_CHARS:
        return False
    if len(text) <= len(_PREFIX):
        return _PREFIX.startswith(text)
    inside = text[1:]
    return text.startswith(_PREFIX) and not any(mark in inside for mark in "[]\n")

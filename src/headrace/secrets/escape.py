"""Finds secrets in JSON text while it is written, whatever escapes the model uses."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from headrace.secrets.finder import Finder, Span

_ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<code>[0-9a-fA-F]{4})|(?P<letter>[^u]))",
    re.DOTALL,
)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
# The length of an escaped surrogate pair: with fewer characters it may still become one.
_MAX_ESCAPE_CHARS = 12


class UnescapingFinder:
    """Runs other finders on the unescaped text, and maps their spans back to the text as
    written."""

    def __init__(self, finders: Iterable[Finder]) -> None:
        self.decided = 0
        self._finders = tuple(finders)
        self._open = ""
        self._read = 0
        self._written = 0
        # Offsets at which the unescaped and the written text diverge, in order.
        self._reads = [0]
        self._writes = [0]

    def feed(self, text: str) -> list[Span]:
        """Return the spans found with this piece."""
        return self._find(self._unescape(self._open + text, is_over=False), is_over=False)

    def close(self) -> list[Span]:
        """Return the remaining spans at the end of the text."""
        return self._find(self._unescape(self._open, is_over=True), is_over=True)

    def _find(self, text: str, *, is_over: bool) -> list[Span]:
        spans: list[Span] = []
        for finder in self._finders:
            spans += finder.feed(text)
            if is_over:
                spans += finder.close()
        made = [(self._place(start), self._place(end)) for start, end in spans]
        decided = min((finder.decided for finder in self._finders), default=self._read)
        self.decided = self._place(decided)
        self._forget(decided)
        return made

    def _unescape(self, text: str, *, is_over: bool) -> str:
        """Return the unescaped text, up to an incomplete escape."""
        pieces: list[str] = []
        at = 0
        self._open = ""
        while (begin := text.find("\\", at)) >= 0:
            escape = _ESCAPE.match(text, begin)
            if not is_over and _is_open(escape, text, begin):
                self._open = text[begin:]
                text = text[:begin]
                break
            end = escape.end() if escape else begin + 1
            pieces += (text[at:begin], _char(escape))
            self._advance(begin - at + 1, end - at)
            at = end
        pieces.append(text[at:])
        self._advance(len(text) - at, len(text) - at)
        return "".join(pieces)

    def _advance(self, read: int, written: int) -> None:
        self._read += read
        self._written += written
        if read != written:
            self._reads.append(self._read)
            self._writes.append(self._written)

    def _place(self, read: int) -> int:
        at = bisect_right(self._reads, read) - 1
        return self._writes[at] + read - self._reads[at]

    def _forget(self, decided: int) -> None:
        """Drop offsets before a position that is no longer needed."""
        at = bisect_right(self._reads, decided) - 1
        if at > 0:
            del self._reads[:at], self._writes[:at]


def _is_open(escape: re.Match[str] | None, text: str, begin: int) -> bool:
    """Return whether more text could change this escape."""
    if escape is None:
        return len(text) - begin < _MAX_ESCAPE_CHARS // 2
    is_half = escape["code"] is not None and escape["code"][0] in "dD"
    return is_half and len(text) - begin < _MAX_ESCAPE_CHARS


def _char(escape: re.Match[str] | None) -> str:
    if escape is None:
        return "\\"
    if escape["high"]:
        pair = bytes.fromhex(escape["high"] + escape["low"])
        return pair.decode("utf-16-be")
    if escape["code"]:
        return chr(int(escape["code"], 16))
    return _LETTERS.get(escape["letter"], escape["letter"])

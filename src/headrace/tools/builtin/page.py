"""Convert a web page to plain text.

The scanner takes time linear in the size of any page; Python's `html.parser` takes quadratic
time for malicious pages (CVE-2025-6069).
"""

from __future__ import annotations

import html
import re

_SKIPPED = frozenset("script style noscript template svg iframe object head textarea".split())
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2"
    " h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split()
)
_MARKS = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"li": "- "}
_CELLS = frozenset({"td", "th"})
_TAG_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]*)")
_ENDS = {name: re.compile(f"</{name}[\\s/>]", re.I | re.A) for name in (*_SKIPPED, "title")}
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n{3,}")
_MAX_TITLE_CHARS = 300


class Page:
    """The `title` and `text` of an HTML page."""

    def __init__(self, source: str) -> None:
        self.title = ""
        self._source = source
        self._pieces: list[str] = []
        self._read()
        text = _BLANKS.sub(" ", "".join(self._pieces))
        lines = (line.strip() for line in text.split("\n"))
        self.text = _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()

    def _read(self) -> None:
        at = 0
        while at < len(self._source):
            opening = self._source.find("<", at)
            if opening < 0:
                opening = len(self._source)
            self._add_text(self._source[at:opening])
            at = self._read_tag(opening) if opening < len(self._source) else opening

    def _add_text(self, text: str) -> None:
        self._pieces.append(_unescape(text).replace("\r", " ").replace("\n", " "))

    def _read_tag(self, opening: int) -> int:
        """Read one tag. Returns where the text continues."""
        if self._source.startswith("<!--", opening):
            return self._find_end("-->", opening + 4)
        match = _TAG_NAME.match(self._source, opening + 1)
        if match is None and not self._source.startswith(("!", "?", "/"), opening + 1):
            self._add_text("<")
            return opening + 1
        after = self._find_end(">", opening + 1)
        if match is not None:
            return self._handle_tag(match[1].lower(), self._source[opening + 1] == "/", after)
        return after

    def _find_end(self, mark: str, at: int) -> int:
        found = self._source.find(mark, at)
        return len(self._source) if found < 0 else found + len(mark)

    def _handle_tag(self, name: str, is_end: bool, after: int) -> int:
        if name == "head" or (is_end and name in _SKIPPED):
            return after  # the title is in the head; its other elements are skipped one by one
        if name == "title" and not is_end:
            return self._read_title(after)
        if name in _SKIPPED and self._source[after - 2 : after] != "/>":
            return self._skip(name, after)[1]
        if name in _BLOCKS:
            self._pieces.append("\n" if is_end or name == "br" else f"\n{_MARKS.get(name, '')}")
        elif name in _CELLS and is_end:
            self._pieces.append(" | ")
        return after

    def _skip(self, name: str, at: int) -> tuple[int, int]:
        """Return where the content of an element ends and where the text continues."""
        end = _ENDS[name].search(self._source, at)
        if end is None:
            return len(self._source), len(self._source)
        return end.start(), self._find_end(">", end.start())

    def _read_title(self, at: int) -> int:
        end, after = self._skip("title", at)
        if not self.title:
            words = _unescape(self._source[at : min(end, at + 4 * _MAX_TITLE_CHARS)]).split()
            self.title = " ".join(words)[:_MAX_TITLE_CHARS]
        return after


def _unescape(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a reference to a character with thousands of digits
        return text

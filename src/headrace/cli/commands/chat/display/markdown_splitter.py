"""Cuts growing Markdown into blocks that can be printed one by one and never change.

It does not parse Markdown: it cuts where every Markdown parser ends a block, and leaves the syntax
inside a block to the renderer. A block that grows too long is cut as well, so that drawing the open
block has a bounded cost.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A longer block is cut at the next good place. Most blocks are a tenth of this.
_SOFT_CHARS = 2_000
# A longer block is cut at the next line, or inside an endless line.
_HARD_CHARS = 8_000

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_ITEM = re.compile(r" ?(?:[*+-]|(\d{1,9})[.)])(?:[ \t]+|$)")
# Text indented this far belongs to a list item.
_INNER_COLUMNS = 2
_NUMBER = re.compile(r"\d+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\w)|(?<=[。！？])(?=\w)")


class Block(NamedTuple):
    """A piece of the text."""

    source: str
    """The original text. All sources joined are the whole text."""
    text: str
    """The text that renders alone as it would in its place."""
    is_code: bool = False


class Splitter:
    """Splits text in any slicing. After `close()` the blocks are those of the whole text."""

    def __init__(self) -> None:
        self._line = ""
        self._lines: list[str] = []
        self._chars = 0
        self._done: list[Block] = []
        self._is_inside_line = False
        self._begin()

    def _begin(self) -> None:
        self._fence = self._opener = ""
        self._lines_in_fence = 0
        self._is_list = False
        self._was_blank = False
        self._number: int | None = None
        # What the start of the block said, if it is in an earlier piece.
        self._context = ""
        self._first_number: int | None = None

    def feed(self, text: str) -> list[Block]:
        """Return the blocks that this text completes."""
        *whole, rest = text.split("\n")
        for line in whole:
            self._end(self._line + line)
        self._line += rest
        self._overflow()
        return self._drain()

    def close(self) -> list[Block]:
        """End the text: return the remaining blocks."""
        if self._line:
            self._take(self._line, self._line)
            self._line = ""
        self._settle()
        self._is_inside_line = False
        return self._drain()

    @property
    def open(self) -> Block:
        """Return the text that is in no block yet."""
        return self._block("".join(self._lines) + self._line)

    def _drain(self) -> list[Block]:
        done, self._done = self._done, []
        return done

    # -- lines

    def _end(self, line: str) -> None:
        self._line = line
        self._overflow()
        line, self._line = self._line, ""
        is_whole = not self._is_inside_line
        self._take(line, line + "\n")
        self._is_inside_line = False
        if is_whole and self._ends_with(line):
            self._settle()
        elif self._chars > _SOFT_CHARS:
            self._shorten()

    def _ends_with(self, line: str) -> bool:
        if self._fence:
            return self._lines_in_fence > 1 and self._closes(line)
        if self._is_list:
            return False
        return not line.strip() or _HEADING.match(line) is not None

    def _overflow(self) -> None:
        """Take an endless line in pieces."""
        while len(self._line) > _HARD_CHARS:
            piece, self._line = self._line[:_HARD_CHARS], self._line[_HARD_CHARS:]
            self._take(piece, piece)
            self._is_inside_line = True
            self._cut()

    def _take(self, line: str, source: str) -> None:
        if not self._is_inside_line:
            self._judge(line)
        self._lines.append(source)
        self._chars += len(source)
        if self._fence:
            self._lines_in_fence += 1

    def _judge(self, line: str) -> None:
        if self._fence:
            return
        if not line.strip():
            self._was_blank = True
            return
        if self._chars and self._begins(line):
            self._settle()
        self._note(line)
        self._was_blank = False

    def _begins(self, line: str) -> bool:
        if not self._is_list:
            return _FENCE.match(line) is not None or _HEADING.match(line) is not None
        if len(line) - len(line.lstrip(" \t")) >= _INNER_COLUMNS:
            return False
        if _FENCE.match(line) or _HEADING.match(line):
            return True
        return self._was_blank and not _is_item(line)

    def _note(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence is not None and not self._is_list:
            self._fence, self._opener = fence[1], line + "\n"
            return
        item = _ITEM.match(line)
        if item is None or not _is_item(line):
            return
        # A paragraph line that looks like a list item may be one; that only delays the cut.
        if self._is_list and self._chars > _SOFT_CHARS:
            self._cut_list()
        if item[1] is not None:
            self._number = int(item[1]) if self._number is None else self._number + 1
        self._is_list = True

    def _closes(self, line: str) -> bool:
        bare = line.strip(" ")
        return (
            len(line) - len(line.lstrip(" ")) < 4
            and bare.startswith(self._fence)
            and not bare.strip(self._fence[0])
        )

    # -- cuts

    def _cut_list(self) -> None:
        """Cut a list, continuing its numbers."""
        number = self._number
        self._settle()
        self._is_list = True
        self._number = number
        self._first_number = None if number is None else number + 1

    def _shorten(self) -> None:
        """Cut a long block. A list waits for its next item, a table for its end."""
        if self._fence:
            if self._chars > _HARD_CHARS:
                self._cut()
        elif not self._is_list and "|" not in self._lines[0]:
            while self._chars > _SOFT_CHARS:
                self._cut_at_sentence()
        elif self._chars > _HARD_CHARS:
            self._cut()

    def _cut_at_sentence(self) -> None:
        text = "".join(self._lines)
        places = [found.end() for found in _SENTENCE.finditer(text) if found.end() <= _SOFT_CHARS]
        at = places[-1] if places else text.rfind("\n", 0, _SOFT_CHARS) + 1 or len(text)
        self._emit(text[:at])
        self._lines, self._chars = ([text[at:]], len(text) - at) if text[at:] else ([], 0)

    def _cut(self) -> None:
        """Cut here; code continues as code."""
        self._emit("".join(self._lines))
        self._lines, self._chars = [], 0
        if self._fence:
            self._context = self._opener

    def _settle(self) -> None:
        source = "".join(self._lines)
        if source:
            self._emit(source)
        self._lines, self._chars = [], 0
        self._begin()

    def _emit(self, source: str) -> None:
        self._done.append(self._block(source))
        self._context, self._first_number = "", None

    def _block(self, source: str) -> Block:
        text = self._context + source
        if self._first_number is not None and self._is_list:
            text = _NUMBER.sub(str(self._first_number), text, count=1)
        return Block(source, text, is_code=bool(self._fence))


def _is_item(line: str) -> bool:
    return _ITEM.match(line) is not None and _RULE.match(line) is None

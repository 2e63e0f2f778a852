"""Wraps streaming text between words. Code and tables are left to the terminal, to be copied."""

from __future__ import annotations

import re
from collections.abc import Callable

from headrace.cli.terminal.safe_text import columns_of

_PARTS = re.compile(r"\n|[ \t]+|[^ \t\n]+")
_FENCES = ("```", "~~~")
_CODE_INDENT = "    "
_TAB_COLUMNS = 8


class SoftWrap:
    """Wraps text at the terminal's width.

    `columns` returns the width; without it nothing is wrapped. The last word is held back until it
    is complete, but no more than fits into a line.
    """

    def __init__(self, columns: Callable[[], int] | None) -> None:
        self._columns = columns
        self._word = ""
        self._blank = ""
        self._used = 0
        self._is_verbatim = False
        self._is_fenced = False
        self._is_new_line = True
        self._is_inside_word = False

    @property
    def is_inside_line(self) -> bool:
        """Whether the current line has any text."""
        return bool(self._used or self._word or self._blank)

    def feed(self, text: str) -> str:
        """Return the text that can be shown now."""
        if self._columns is None:
            self._used = len(text) - text.rfind("\n") - 1 + (0 if "\n" in text else self._used)
            return text
        return "".join(map(self._part, _PARTS.findall(text)))

    def close(self) -> str:
        """Return the word that was held back."""
        return self._end_word()

    def _part(self, part: str) -> str:
        if part == "\n":
            return self._end_line()
        if part[0] not in " \t":
            return "".join(map(self._char, part)) if not part.isascii() else self._add(part)
        shown = self._end_word()
        self._is_inside_word = False
        self._blank += part
        return shown

    def _char(self, char: str) -> str:
        """Add a character. Wide characters are of scripts that break anywhere."""
        if columns_of(char) < 2:
            return self._add(char)
        before = self._end_word()
        self._is_inside_word = False
        return before + self._add(char) + self._end_word()

    def _add(self, part: str) -> str:
        assert self._columns is not None
        self._word += part
        if columns_of(self._word) < self._columns():
            return ""
        # A word longer than a line, such as a URL, is left to the terminal.
        shown = self._end_word()
        self._is_inside_word = True
        return shown

    def _end_word(self) -> str:
        word, blank = self._word, self._blank
        if not word:
            return ""
        self._begin_line(blank, word)
        self._word = self._blank = ""
        if self._is_too_wide(blank + word):
            self._used = columns_of(word)
            return f"\n{word}"
        self._used += columns_of(blank.replace("\t", " " * _TAB_COLUMNS) + word)
        return blank + word

    def _is_too_wide(self, part: str) -> bool:
        assert self._columns is not None
        is_whole = self._is_verbatim or self._is_inside_word or not self._used
        return not is_whole and self._used + columns_of(part) > self._columns()

    def _begin_line(self, blank: str, word: str) -> None:
        if not self._is_new_line:
            return
        self._is_new_line = False
        # Three or more backticks open a code block, unless more follow on the line.
        is_fence = word.startswith(_FENCES) and word[0] not in word.lstrip(word[0])
        is_code = blank.startswith((_CODE_INDENT, "\t")) or word.startswith("|")
        self._is_verbatim = is_fence or is_code or self._is_fenced
        self._is_fenced = self._is_fenced is not is_fence

    def _end_line(self) -> str:
        shown = self._end_word() + self._blank + "\n"
        self._blank = ""
        self._used = 0
        self._is_new_line = True
        self._is_inside_word = self._is_verbatim = False
        return shown

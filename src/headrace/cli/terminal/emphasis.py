"""Shows the `**` of streaming Markdown as bold text. Code is left as it is."""

from __future__ import annotations

import re
from typing import Final

_MARKS = re.compile(r"`+|\*\*|\n\n")
_FENCE_LENGTH: Final = 3
BOLD: Final = "\x1b[1m"
NOT_BOLD: Final = "\x1b[22m"


class Emphasis:
    """Replaces pairs of `**` by the codes that begin and end bold text, or by nothing."""

    def __init__(self, begin: str = BOLD, end: str = NOT_BOLD) -> None:
        self._begin = begin
        self._end = end
        self._held = ""
        self._before = " "
        self._is_bold = False
        self._code = ""

    def feed(self, text: str) -> str:
        """Return the text that can be shown now: marks at the end wait for what follows."""
        text = self._held + text
        is_mark = text[-1:] in ("`", "*", "\n")
        shown = text.rstrip(text[-1]) if is_mark else text
        self._held = text[len(shown) :]
        return self._replace(shown)

    def close(self) -> str:
        """Return the marks that were held back, and end what is bold."""
        text, self._held = self._held, ""
        shown = self._replace(text)
        self._code = ""
        return shown + self._stop()

    def _replace(self, text: str) -> str:
        if not text:
            return ""
        shown = _MARKS.sub(self._replace_mark, text)
        self._before = text[-1]
        return shown

    def _replace_mark(self, found: re.Match[str]) -> str:
        mark = found[0]
        if mark[0] == "`":
            self._toggle_code(mark)
            return mark
        if mark == "\n\n":
            if len(self._code) >= _FENCE_LENGTH:
                return mark
            # Neither code in a line nor bold text goes on in the next paragraph.
            self._code = ""
            return self._stop() + mark
        if self._code:
            return mark
        before = found.string[found.start() - 1] if found.start() else self._before
        after = found.string[found.end() : found.end() + 1]
        if self._is_bold and not before.isspace():
            return self._stop()
        if not self._is_bold and after and not after.isspace() and not before.isalnum():
            self._is_bold = True
            return self._begin
        return mark

    def _toggle_code(self, mark: str) -> None:
        if not self._code:
            self._code = mark
        elif mark.startswith(self._code) or len(mark) == len(self._code):
            self._code = ""

    def _stop(self) -> str:
        if not self._is_bold:
            return ""
        self._is_bold = False
        return self._end

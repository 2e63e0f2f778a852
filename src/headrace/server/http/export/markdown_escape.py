"""Escapes Markdown that would look like a heading of an export."""

from __future__ import annotations

import re
from typing import Final

_AUTHOR: Final = r"[*_`]*(?:user|assistant)[*_`]*[ \t:#]*"
_FLAGS: Final = re.MULTILINE | re.IGNORECASE
# A heading is marked by `#` in front of it, by a line of `=` or `-` below it, or in HTML.
_MARKED = re.compile(rf"^([ \t>]*)(#{{1,6}}[ \t]*{_AUTHOR})$", _FLAGS)
_UNDERLINED = re.compile(rf"^([ \t>]*{_AUTHOR}\n[ \t>]*)([=-]+[ \t]*)$", _FLAGS)
_TAG = re.compile(rf"<(?=h[1-6][^>]{{0,200}}>\s{{0,20}}{_AUTHOR})", _FLAGS)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def escape_headings(text: str) -> str:
    """Return the Markdown of a message in which nothing can pass for the heading of another one.

    Only headings that name an author are escaped, so that other text stays as it is. A code block
    that is left open is closed, because it would swallow the next heading.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _MARKED.sub(r"\1\\\2", text)
    text = _UNDERLINED.sub(r"\1\\\2", text)
    text = _TAG.sub("&lt;", text)
    fence = _find_open_fence(text)
    return f"{text}\n{fence}" if fence else text


def _find_open_fence(text: str) -> str:
    """Return the fence of a code block that is not closed, or an empty string."""
    fence = ""
    for match in _FENCE.finditer(text):
        marks, info = match[1], match[2]
        if not fence:
            # Backticks after the fence make it code inside a line.
            fence = marks if marks[0] == "~" or "`" not in info else ""
        elif marks.startswith(fence) and not info.strip():
            fence = ""
    return fence

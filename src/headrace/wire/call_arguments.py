"""The arguments of a tool call: when they are whole, and what they say."""

from __future__ import annotations

import re
from typing import Any

from headrace.errors import LimitExceeded
from headrace.wire.json.payload import NotJSON, parse, replace_surrogates

_MARKS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


class MalformedArguments(ValueError):
    """The text is no JSON, or deeper than we read. The message is for the model."""


def parse_arguments(raw: str, max_depth: int) -> Any:
    """The value. Nothing, blanks and `null` are `{}`."""
    try:
        value = parse(_encode(raw), max_depth) if raw.strip() else None
    except LimitExceeded as error:
        raise MalformedArguments(f"nested deeper than {error.limit}={error.allowed}") from None
    except NotJSON as error:
        raise MalformedArguments(str(error)) from None
    return {} if value is None else value


def _encode(raw: str) -> bytes:
    try:
        return raw.encode()
    except UnicodeEncodeError:
        return replace_surrogates(raw).encode()


class JSONExtent:
    """Follows a JSON text, fragment by fragment, to the bracket or quote that closes it,
    so that nobody has to parse again and again to know whether it is whole."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_string = False
        self._is_escaped = False
        self.is_closed = False

    def feed(self, text: str) -> None:
        """More of the text."""
        start = 1 if self._is_escaped and text else 0
        self._is_escaped = self._is_escaped and not text
        for match in _MARKS.finditer(text, start):
            self._mark(match[0])

    def _mark(self, mark: str) -> None:
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

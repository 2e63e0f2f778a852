"""Parses a JSON text while it arrives: one value that grows in place.

A string grows with every piece. A number, `true`, `false` or `null` appears when it is complete, a
key when its value begins. The time is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

from headrace.wire.json.payload import REFUSED

NOTHING: Final = msgspec.UNSET
"""The value before its first character has arrived."""

# Characters and whole escapes of a string. Half of a surrogate pair alone is not among them.
_WHOLE = re.compile(
    r"""(?:[^"\\]++|\\(?:["\\/bfnrt]
    |u(?![dD][89a-fA-F])[0-9a-fA-F]{4}
    |u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))*+""",
    re.VERBOSE,
)
_unescape = json.JSONDecoder(strict=False).decode
_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r"[^\]},\s]*")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE_CHARS = len(r"\uXXXX")
_PAIR_CHARS = 2 * _UNICODE_CHARS
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_Read: TypeAlias = Callable[[str, int], int]


class PartialJSON:
    """A JSON value that is read piece by piece.

    `value` is the value so far, `NOTHING` at first. Lists and dicts are changed in place. With
    `skips_prose`, everything before the first brace is ignored, such as the fence of a code block.
    After a syntax error the value stays as it is, and `is_broken` is set; text after the value is
    ignored.
    """

    def __init__(self, *, skips_prose: bool = False) -> None:
        self.is_complete = False
        self.is_broken = False
        self.changes = 0
        """How often the value has grown."""
        # The root is kept in a list, so that every value has a container and a key.
        self._root: list[Any] = [NOTHING]
        self._container: Any = self._root
        self._key: Any = 0
        self._parents: list[tuple[Any, Any]] = []
        self._pieces: list[str] = []
        self._is_key = False
        self._escape = ""
        self._token: list[str] = []
        self._read: _Read = self._skip_prose if skips_prose else self._begin_value

    @property
    def value(self) -> Any:
        """The value so far."""
        return self._root[0]

    def feed(self, text: str) -> Any:
        """Take more of the text and return the value so far."""
        at, end = 0, len(text)
        while at < end and not (self.is_complete or self.is_broken):
            at = self._read(text, at)
        if self._pieces and not self._is_key:
            self._extend_string()
        return self._root[0]

    def close(self) -> Any:
        """Take the end of the text, which completes a number at the top, and return the value."""
        if self._token and not self._parents:
            self._finish_token()
        return self._root[0]

    # -- values

    def _skip_prose(self, text: str, at: int) -> int:
        start = text.find("{", at)
        if start < 0:
            return len(text)
        self._read = self._begin_value
        return start

    def _begin_value(self, text: str, at: int) -> int:
        at = _skip_space(text, at)
        if at == len(text):
            return at
        char = text[at]
        if char == '"':
            self._put("")
            self._read = self._read_string
            return at + 1
        if char == "{":
            self._open({}, self._begin_key)
            return at + 1
        if char == "[":
            self._open([], self._begin_entry)
            return at + 1
        if char in "]},:":
            return self._break(at)
        self._read = self._read_token
        return at

    def _begin_entry(self, text: str, at: int) -> int:
        """Read the first entry of a list, or its end."""
        at = _skip_space(text, at)
        if at < len(text) and text[at] == "]":
            return self._close_container(at)
        return self._begin_value(text, at)

    def _begin_key(self, text: str, at: int) -> int:
        """Read the first key of a dict, or its end."""
        at = _skip_space(text, at)
        if at < len(text) and text[at] == "}":
            return self._close_container(at)
        return self._read_key(text, at)

    def _read_key(self, text: str, at: int) -> int:
        at = _skip_space(text, at)
        if at == len(text):
            return at
        if text[at] != '"':
            return self._break(at)
        self._is_key = True
        self._read = self._read_string
        return at + 1

    def _read_colon(self, text: str, at: int) -> int:
        at = _skip_space(text, at)
        if at == len(text):
            return at
        if text[at] != ":":
            return self._break(at)
        self._read = self._begin_value
        return at + 1

    def _read_separator(self, text: str, at: int) -> int:
        """Read what follows a value inside a container: a comma, or the end of the container."""
        at = _skip_space(text, at)
        if at == len(text):
            return at
        is_list = isinstance(self._container, list)
        if text[at] == ",":
            self._read = self._begin_value if is_list else self._read_key
            return at + 1
        return self._close_container(at) if text[at] == "}]"[is_list] else self._break(at)

    def _put(self, value: Any) -> None:
        """Store a value that begins in its container."""
        self.changes += 1
        container: Any = self._container
        if self._parents and isinstance(cast("object", container), list):
            self._key = len(container)
            container.append(value)
        else:
            container[self._key] = value

    def _open(self, container: Any, read: _Read) -> None:
        self._put(container)
        self._parents.append((self._container, self._key))
        self._container = container
        self._read = read

    def _close_container(self, at: int) -> int:
        self._container, self._key = self._parents.pop()
        self._finish_value()
        return at + 1

    def _finish_value(self) -> None:
        if self._parents:
            self._read = self._read_separator
        else:
            self.is_complete = True

    def _break(self, at: int) -> int:
        self.is_broken = True
        return at

    # -- numbers and names

    def _read_token(self, text: str, at: int) -> int:
        match = _TOKEN.match(text, at)
        assert match is not None
        self._token.append(match[0])
        if match.end() < len(text):
            self._finish_token()
        return match.end()

    def _finish_token(self) -> None:
        token = "".join(self._token)
        self._token.clear()
        try:
            self._put(msgspec.json.decode(token))
        except REFUSED:
            self.is_broken = True
        else:
            self._finish_value()

    # -- strings

    def _read_string(self, text: str, at: int) -> int:
        match = _WHOLE.match(text, at)
        assert match is not None
        piece, at = match[0], match.end()
        if piece:
            self._pieces.append(_unescape(f'"{piece}"') if "\\" in piece else piece)
        if at == len(text):
            return at
        if text[at] == '"':
            return self._finish_string(at)
        self._escape = "\\"
        self._read = self._read_escape
        return at + 1

    def _finish_string(self, at: int) -> int:
        if self._is_key:
            self._key = "".join(self._pieces)
            self._pieces.clear()
            self._is_key = False
            self._read = self._read_colon
            return at + 1
        if self._pieces:
            self._extend_string()
        self._finish_value()
        return at + 1

    def _extend_string(self) -> None:
        """Add the pieces to the open string. While the name `text` holds the only reference, Python
        extends the string in place instead of copying it."""
        self.changes += 1
        container, key = self._container, self._key
        text = container[key]
        container[key] = None
        text += "".join(self._pieces)
        container[key] = text
        self._pieces.clear()

    def _read_escape(self, text: str, at: int) -> int:
        """Read one more character of an escape. Half of a surrogate pair waits for the other."""
        self._escape += text[at]
        escape = self._escape
        if escape[1] != "u":
            self._finish_escape(_ESCAPES.get(escape[1]))
        elif len(escape) == _UNICODE_CHARS:
            code = _parse_code(escape[2:])
            if code is None or not 0xD800 <= code < 0xDC00:
                self._finish_escape(None if code is None else _to_char(code))
        elif len(escape) > _UNICODE_CHARS:
            return self._read_second_half(at)
        return at + 1

    def _read_second_half(self, at: int) -> int:
        escape = self._escape
        if not "\\u".startswith(escape[_UNICODE_CHARS : _UNICODE_CHARS + 2]):
            # The first half stands alone. What was read of the rest is read again.
            self._finish_escape(_REPLACEMENT)
            if len(escape) == _UNICODE_CHARS + 1:
                return at
            self._escape = "\\"
            self._read = self._read_escape
            return at
        if len(escape) == _PAIR_CHARS:
            high, low = _parse_code(escape[2:6]), _parse_code(escape[8:])
            if high is None or low is None:
                self._finish_escape(None)
            elif 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                self._finish_escape(chr(code))
            else:
                self._finish_escape(_REPLACEMENT + _to_char(low))
        return at + 1

    def _finish_escape(self, text: str | None) -> None:
        self._escape = ""
        self._read = self._read_string
        if text is None:
            self.is_broken = True
        else:
            self._pieces.append(text)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _parse_code(digits: str) -> int | None:
    try:
        return int(digits, 16) if digits.isalnum() else None
    except ValueError:
        return None


def _to_char(code: int) -> str:
    return _REPLACEMENT if 0xD800 <= code < 0xE000 else chr(code)

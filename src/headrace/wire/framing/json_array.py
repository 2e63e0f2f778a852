"""The framing of a JSON array that grows as it is sent, as Gemini streams without `alt=sse`.

It finds where elements end; whether they are valid JSON is for their reader to say.
"""

from __future__ import annotations

import re
from typing import Literal

from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing.frame import Frame
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_BLANKS = re.compile(rb"[ \t\r\n]*+")
# Possessive throughout: there must be no backtracking on a string that a read cuts off.
_TO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+', re.DOTALL)
_TO_STRING_END = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_TO_SCALAR_END = re.compile(rb"[-+.0-9A-Za-z]*+")

_CLOSERS = {b"{": b"}", b"[": b"]"}
_SCALAR_STARTS = b"-0123456789tfn"

_Place = Literal["top", "first", "between", "next", "element", "end"]

# What may come between elements; `_STARTS` says where an element may begin.
_MOVES: dict[tuple[_Place, bytes], _Place] = {
    ("top", b"["): "first",
    ("first", b"]"): "end",
    ("between", b","): "next",
    ("between", b"]"): "end",
}
_STARTS: dict[_Place, bytes] = {
    "top": b"{",
    "first": b'{["' + _SCALAR_STARTS,
    "next": b'{["' + _SCALAR_STARTS,
}


class JSONArrayFraming:
    """One frame per element of the top-level array, as soon as its last byte has come.

    A top-level object instead of an array (an error body) is one frame. Anything else raises
    `WireError`; frames before it are returned first, and the next call raises.
    """

    def __init__(self, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        self.unfinished: Frame | None = None
        self._max_frame_bytes = limits.max_frame_bytes
        self._max_depth = limits.max_depth
        self._place: _Place = "top"
        self._place_after: _Place = "end"
        # The open element so far, and the brackets that are open in it.
        self._element = bytearray()
        self._closers: list[bytes] = []
        self._is_scalar = False
        self._is_in_string = False
        self._is_escaped = False
        self._error: WireError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return the elements it completed.

        Raises `LimitExceeded` for `max_frame_bytes` and `max_depth`, which counts the nesting
        inside an element, and `WireError` if the bytes are not an array.
        """
        if self._error is not None:
            raise self._error
        frames: list[Frame] = []
        try:
            self._take(data, frames)
        except WireError as error:
            if not frames:
                raise
            self._error = error
        return frames

    def close(self) -> list[Frame]:
        """Take the end of the bytes; an element that was cut off is in `unfinished`."""
        if self._error is not None:
            raise self._error
        if self._element:
            self.unfinished = Frame(bytes(self._element))
        return []

    def _take(self, data: bytes, frames: list[Frame]) -> None:
        position = 0
        while position < len(data):
            if self._place == "element":
                position = self._take_element(data, position, position, frames)
                continue
            position = _match_end(_BLANKS, data, position)
            byte = data[position : position + 1]
            if (self._place, byte) in _MOVES:
                self._place = _MOVES[self._place, byte]
                position += 1
            elif byte:
                scan_from = position + self._begin(byte)
                position = self._take_element(data, position, scan_from, frames)

    def _begin(self, byte: bytes) -> int:
        """Begin an element; return how many of its bytes were consumed."""
        if byte not in _STARTS.get(self._place, b""):
            raise WireError(f"expected a JSON array of values, got {byte!r} ({self._place})")
        self._place_after = "end" if self._place == "top" else "between"
        self._place = "element"
        self._is_scalar = byte in _SCALAR_STARTS
        self._is_in_string = byte == b'"'
        if byte in _CLOSERS:
            self._open(byte)
        return 0 if self._is_scalar else 1

    def _take_element(self, data: bytes, start: int, scan_from: int, frames: list[Frame]) -> int:
        allowed = self._max_frame_bytes - len(self._element)
        # One byte more than allowed: an error behind it must not be seen first, or the result
        # would depend on how reads are cut.
        if len(data) - start > allowed + 1:
            data = data[: start + allowed + 1]
        end = self._scan(data, scan_from)
        stop = len(data) if end is None else end
        if stop - start > allowed:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
        self._element += data[start:stop]
        if end is not None:
            frames.append(Frame(bytes(self._element)))
            self._element.clear()
            self._place = self._place_after
        return stop

    def _scan(self, data: bytes, position: int) -> int | None:
        """Return where the element ends, or None if the data ends first."""
        if self._is_scalar:
            position = _match_end(_TO_SCALAR_END, data, position)
            return position if position < len(data) else None
        while position < len(data):
            if self._is_in_string:
                position = self._scan_string(data, position)
            else:
                position = self._scan_brackets(data, position)
            if not self._closers and not self._is_in_string:
                return position
        return None

    def _scan_string(self, data: bytes, position: int) -> int:
        if self._is_escaped:
            position += 1
        position = _match_end(_TO_STRING_END, data, position)
        # The pattern stops at the quote, or at a backslash that is the last byte.
        self._is_escaped = data[position : position + 1] == b"\\"
        self._is_in_string = self._is_escaped or position >= len(data)
        return position + 1

    def _scan_brackets(self, data: bytes, position: int) -> int:
        """Go to the next bracket, or into the string that the read cuts off."""
        position = _match_end(_TO_BRACKET, data, position)
        byte = data[position : position + 1]
        if byte in _CLOSERS:
            self._open(byte)
        elif byte == b'"':
            self._is_in_string = True
        elif byte and byte != self._closers.pop():
            raise WireError(f"expected JSON, got {byte!r} where another bracket is open")
        return position + 1

    def _open(self, byte: bytes) -> None:
        if len(self._closers) >= self._max_depth:
            raise LimitExceeded("max_depth", self._max_depth)
        self._closers.append(_CLOSERS[byte])


def _match_end(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    match = pattern.match(data, position)
    return match.end() if match else position

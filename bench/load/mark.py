"""Marks: the moment at which an event was sent, carried in its own text.

Every process of one machine reads the same monotonic clock, so a mark can be compared anywhere.
"""

from __future__ import annotations

import re
import time

EVENTS_A_SECOND = 50
_MARK = re.compile(rb"@(\d{10,20})@")
_LONGEST = 24


def mark(at_ns: int) -> bytes:
    """The moment as text that no server changes."""
    return b"@%d@" % at_ns


class Marks:
    """Finds the marks of one stream, however it is cut."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[int]:
        data = self._rest + data
        found: list[int] = []
        end = 0
        for match in _MARK.finditer(data):
            found.append(int(match[1]))
            end = match.end()
        self._rest = data[max(end, len(data) - _LONGEST) :]
        return found


def now_ns() -> int:
    return time.monotonic_ns()

"""Splits the output of a server into lines, without keeping a line that is too long."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_EDGE_BYTES: Final = 1_024
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')
_METHOD = re.compile(rb'"method"\s*:')


class LongLine(msgspec.Struct, frozen=True):
    """A line over the limit: its size, and its first and last bytes."""

    size: int
    head: bytes
    tail: bytes


class LineSplitter:
    """Splits bytes at newlines. Of a line that is longer than `max_bytes` only the edges are kept,
    so that memory and time are bounded."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Joined once per line: joining per read would take quadratic time.
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""
        self._is_long = False

    def feed(self, data: bytes) -> list[bytes | LongLine]:
        """Return the lines that end in these bytes."""
        lines: list[bytes | LongLine] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece)
            lines.append(self._take())
        self._add(rest)
        return [line for line in lines if line != b""]

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._max_bytes:
            self._pieces.append(piece)
            return
        if not self._is_long:
            self._is_long = True
            kept = b"".join(self._pieces)
            self._pieces = [(kept[:_EDGE_BYTES] + piece[:_EDGE_BYTES])[:_EDGE_BYTES]]
            self._tail = kept[-_EDGE_BYTES:]
        self._tail = (self._tail + piece)[-_EDGE_BYTES:]

    def _take(self) -> bytes | LongLine:
        whole = b"".join(self._pieces)
        size, tail = self._size, self._tail
        self._pieces, self._size, self._tail, self._is_long = [], 0, b"", False
        if size <= self._max_bytes:
            return whole.strip()
        return LongLine(size, whole[:_EDGE_BYTES], tail)


def find_request_id(head: bytes, tail: bytes) -> int | str | None:
    """Return the id of the request that a damaged or long response answers, or None.

    The id is looked for at the edges: servers write it before or after the result.
    """
    if _METHOD.search(head) or _METHOD.search(tail):
        return None
    found = _ID.search(head) or next(iter(list(_ID.finditer(tail))[-1:]), None)
    if found is None:
        return None
    value = found.group(1)
    return value[1:-1].decode("utf-8", "replace") if value.startswith(b'"') else int(value)

"""`ChunkedBody`: the body of a response in HTTP's chunked coding, decoded read by read.

Nearly every read of a model's stream is one whole chunk, so that case takes a few operations. All
others, which any cut of the bytes can cause, are read by a small state machine.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from headrace.errors import HeadraceError

_MAX_LINE_BYTES: Final = 4_096
"""Most bytes of a chunk's first line, which may have extensions."""
_MAX_TRAILER_BYTES: Final = 16_384
_SHOWN_BYTES: Final = 40
# `int()` alone would also accept signs, spaces and underscores.
_match_size = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n").match
_match_plain_size = re.compile(rb"([0-9a-fA-F]{1,15})\r\n").match


class ChunkingBroken(HeadraceError):
    """The bytes are not in the chunked coding."""


class _State(Enum):
    SIZE = auto()
    DATA = auto()
    DATA_END = auto()
    TRAILER = auto()
    END = auto()


class ChunkedBody:
    """Decodes one body: `feed()` reads of any length until `is_finished`."""

    __slots__ = ("_left", "_rest", "_state", "_trailer_bytes", "excess")

    def __init__(self) -> None:
        self._state = _State.SIZE
        self._left = 0
        """Bytes of the current chunk that have not come."""
        self._rest = b""
        """The beginning of a line."""
        self._trailer_bytes = 0
        self.excess = b""
        """What came after the end of the body."""

    @property
    def is_finished(self) -> bool:
        """Whether the body has ended."""
        return self._state is _State.END

    def feed(self, data: bytes) -> bytes:
        """Return the content of a read. Raises `ChunkingBroken`."""
        if self._state is _State.SIZE and not self._rest:
            size = _match_plain_size(data)
            if size is not None:
                start = size.end()
                end = start + int(size[1], 16)
                if start < end == len(data) - 2 and data.endswith(b"\r\n"):
                    return data[start:end]
        return self._feed_parts(data)

    def _feed_parts(self, data: bytes) -> bytes:
        data = self._rest + data
        self._rest = b""
        pieces: list[bytes] = []
        at = 0
        while at < len(data):
            match self._state:
                case _State.SIZE:
                    at = self._read_size(data, at)
                case _State.DATA:
                    piece = data[at : at + self._left]
                    pieces.append(piece)
                    at += len(piece)
                    self._left -= len(piece)
                    if not self._left:
                        self._state = _State.DATA_END
                case _State.DATA_END:
                    at = self._read_line_end(data, at)
                case _State.TRAILER:
                    at = self._read_trailer(data, at)
                case _State.END:
                    self.excess += data[at:]
                    break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_size(self, data: bytes, at: int) -> int:
        size = _match_size(data, at, at + _MAX_LINE_BYTES)
        if size is None:
            is_whole = b"\n" in data[at : at + _MAX_LINE_BYTES]
            if is_whole or len(data) - at >= _MAX_LINE_BYTES:
                shown = data[at : at + _SHOWN_BYTES]
                raise ChunkingBroken(f"expected the size of a chunk; got {shown!r}")
            self._rest = data[at:]
            return len(data)
        self._left = int(size[1], 16)
        self._state = _State.DATA if self._left else _State.TRAILER
        return size.end()

    def _read_line_end(self, data: bytes, at: int) -> int:
        end = data[at : at + 2]
        if end == b"\r\n":
            self._state = _State.SIZE
        elif end == b"\r":
            self._rest = end
        else:
            raise ChunkingBroken(f"expected the end of a chunk; got {data[at : at + 20]!r}")
        return at + len(end)

    def _read_trailer(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at) + 1
        self._trailer_bytes += (end or len(data)) - at
        if self._trailer_bytes > _MAX_TRAILER_BYTES:
            raise ChunkingBroken(f"the trailer passes {_MAX_TRAILER_BYTES} bytes")
        if not end:
            self._trailer_bytes -= len(data) - at
            self._rest = data[at:]
            return len(data)
        if not data[at:end].strip(b"\r\n"):
            self._state = _State.END
        return end

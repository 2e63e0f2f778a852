"""The gRPC framing: messages with a prefix of five bytes, a flag and the length.

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from __future__ import annotations

from headrace.errors import LimitExceeded, WireError
from headrace.wire.framing.frame import Frame
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

PREFIX_BYTES = 5


def add_prefix(message: bytes) -> bytes:
    """Return an uncompressed message as it is sent on the wire."""
    return b"\0" + len(message).to_bytes(4, "big") + message


class GRPCFraming:
    """One frame per message, as soon as its last byte has come.

    A message that the end of the bytes cut off is in `unfinished`, if anything came after its
    prefix. Compressed messages raise `WireError`, because Headrace never asks for compression.
    """

    def __init__(self, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        self.unfinished: Frame | None = None
        self._max_frame_bytes = limits.max_frame_bytes
        # What came of the open message, its prefix included. It grows by what has come and
        # never to the length that the prefix claims.
        self._tail = bytearray()
        self._wanted_bytes = PREFIX_BYTES
        self._error: WireError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return the messages it completed.

        Raises `LimitExceeded` for `max_frame_bytes` as soon as a prefix announces more, and
        `WireError` for a flag other than 0.
        """
        # The hot path: a transport hands over whole messages, one at a time.
        if not self._tail and len(data) >= PREFIX_BYTES and self._error is None:
            size = len(data) - PREFIX_BYTES
            is_whole = data[0] == 0 and int.from_bytes(data[1:PREFIX_BYTES], "big") == size
            if is_whole and size <= self._max_frame_bytes:
                return [Frame(data[PREFIX_BYTES:])]
        if self._error is not None:
            raise self._error
        self._tail += data
        return self._take() if len(self._tail) >= self._wanted_bytes else []

    def close(self) -> list[Frame]:
        """Take the end of the bytes."""
        if self._error is not None:
            raise self._error
        if len(self._tail) > PREFIX_BYTES:
            self.unfinished = Frame(bytes(self._tail[PREFIX_BYTES:]))
        return []

    def _take(self) -> list[Frame]:
        frames: list[Frame] = []
        tail, start = self._tail, 0
        try:
            while len(tail) - start >= PREFIX_BYTES:
                size = self._read_size(start)
                self._wanted_bytes = PREFIX_BYTES + size
                end = start + self._wanted_bytes
                if end > len(tail):
                    break
                frames.append(Frame(bytes(tail[start + PREFIX_BYTES : end])))
                start, self._wanted_bytes = end, PREFIX_BYTES
        except WireError as error:
            # What was whole before it is handed over first: no cut decides what is seen.
            if not frames:
                raise
            self._error = error
        del tail[:start]
        return frames

    def _read_size(self, start: int) -> int:
        flag = self._tail[start]
        if flag:
            raise WireError(f"expected an uncompressed gRPC message (flag 0), got flag {flag}")
        size = int.from_bytes(self._tail[start + 1 : start + PREFIX_BYTES], "big")
        if size > self._max_frame_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_frame_bytes)
        return size

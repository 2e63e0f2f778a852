"""Splits bytes into lines, however the reads are cut. All framings of lines use it."""

from __future__ import annotations

from headrace.errors import LimitExceeded, WireError
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# `10 in data` is one memchr; `b"\n" in data` first tries to read the needle as a number
# and takes six times as long (CPython 3.11).
LF = 10
CR = 13


class LineSplitter:
    """Yields lines without their ends, which are LF, CR or CRLF, also mixed.

    An error after complete lines is held back: the lines are returned and the next call raises, so
    that the result does not depend on how reads are cut.
    """

    __slots__ = ("_error", "_is_after_cr", "_is_special", "_is_start", "_max_bytes", "_tail")

    def __init__(self, limits: WireLimits = DEFAULT_WIRE_LIMITS) -> None:
        self._max_bytes = limits.max_line_bytes
        # A bytearray, not a list of fragments: a list of tiny reads would take many
        # times the limit in object headers, and += does not copy what is there.
        self._tail = bytearray()
        self._is_start = True
        self._is_after_cr = False
        self._error: WireError | None = None
        # One flag in front of the rare states, so that a common read tests one.
        self._is_special = True

    @property
    def is_empty(self) -> bool:
        """Whether the next byte begins a line and nothing needs to be remembered."""
        return not self._tail and not self._is_special

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that this read completed.

        Raises `LimitExceeded("max_line_bytes")` for a line that is longer, or is growing longer.
        """
        if self._is_special:
            data = self._strip_marks(data)
        if LF in data or CR in data:
            return self._split(data)
        tail = self._tail
        tail += data
        if len(tail) > self._max_bytes:
            raise LimitExceeded("max_line_bytes", self._max_bytes)
        return []

    def close(self) -> bytes:
        """Take the end of the bytes and return the line without an end, which may be empty."""
        self.raise_held()
        rest = bytes(self._tail)
        self._tail.clear()
        return rest

    def hold(self, error: WireError) -> None:
        """Raise this error at the next call, after what came before it is returned."""
        self._error = error
        self._is_special = True

    def raise_held(self) -> None:
        """Raise the error that is held back, if there is one."""
        if self._error is not None:
            raise self._error

    def _split(self, data: bytes) -> list[bytes]:
        lines = self._split_at_cr(data) if CR in data else data.split(b"\n")
        tail = self._tail
        is_safe = len(tail) + len(data) <= self._max_bytes
        if tail:
            tail += lines[0]
            lines[0] = bytes(tail)
            tail.clear()
        tail += lines.pop()
        return lines if is_safe else self._check_limit(lines)

    def _check_limit(self, lines: list[bytes]) -> list[bytes]:
        lengths = [*map(len, lines), len(self._tail)]
        if max(lengths) <= self._max_bytes:
            return lines
        error = LimitExceeded("max_line_bytes", self._max_bytes)
        whole = next(n for n, length in enumerate(lengths) if length > self._max_bytes)
        if not whole:
            raise error
        self._tail.clear()
        self.hold(error)
        return lines[:whole]

    def _split_at_cr(self, data: bytes) -> list[bytes]:
        # On bytes, unlike str, splitlines knows exactly the three line ends wanted here.
        lines = data.splitlines()
        if data.endswith((b"\n", b"\r")):
            lines.append(b"")
        # A CR ends its line at once: to wait for its LF would hold an event back.
        self._is_after_cr = self._is_special = data.endswith(b"\r")
        return lines

    def _strip_marks(self, data: bytes) -> bytes:
        """Remove what belongs to no line: the byte order mark, and the LF of a CRLF whose CR came
        with the read before."""
        self.raise_held()
        if self._is_start:
            data = self._strip_byte_order_mark(data)
        if self._is_after_cr and data:
            data = data.removeprefix(b"\n")
            self._is_after_cr = False
        self._is_special = self._is_start or self._is_after_cr
        return data

    def _strip_byte_order_mark(self, data: bytes) -> bytes:
        data = bytes(self._tail) + data
        self._tail.clear()
        if len(data) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(data):
            self._tail += data
            return b""
        self._is_start = False
        return data.removeprefix(_BYTE_ORDER_MARK)

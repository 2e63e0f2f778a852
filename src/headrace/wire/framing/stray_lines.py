"""Collects lines of an SSE stream that are no fields but payloads: JSON, or a web page.

The standard ignores such lines. Gateways send them nonetheless: a payload without `data:`, or an
error body after the stream has begun.
"""

from __future__ import annotations

from headrace.errors import LimitExceeded
from headrace.wire.json_extent import JSONExtent

_STARTS = (b"{", b"[", b"<")


class StrayLines:
    """Takes lines that are no fields. A JSON value over several lines is one payload, and so is a
    web page, up to the next field or the end of the stream."""

    __slots__ = ("_extent", "_max_bytes", "_payload")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._payload = bytearray()
        self._extent: JSONExtent | None = None

    @property
    def is_open(self) -> bool:
        """Whether a payload has begun and not ended."""
        return bool(self._payload)

    @property
    def is_json(self) -> bool:
        """Whether the open payload looks like JSON."""
        return self._extent is not None

    def begins(self, line: bytes) -> bool:
        """Return whether the line begins a payload."""
        return line.lstrip().startswith(_STARTS)

    def feed(self, line: bytes) -> bytes | None:
        """Take a line and return the payload if it ends here. Raises `LimitExceeded` for
        `max_frame_bytes`."""
        if not self._payload:
            self._extent = None if line.lstrip().startswith(b"<") else JSONExtent()
        else:
            self._payload += b"\n"
        if len(self._payload) + len(line) > self._max_bytes:
            raise LimitExceeded("max_frame_bytes", self._max_bytes)
        self._payload += line
        if self._extent is None:
            return None
        # Latin-1 keeps every byte, and no bracket or quote is part of a longer character.
        self._extent.feed(line.decode("latin-1"))
        return self.close() if self._extent.is_closed else None

    def close(self) -> bytes:
        """Return the payload that has begun, complete or not."""
        payload = bytes(self._payload)
        self._payload.clear()
        return payload

"""Framings of recordings that lost some or all of their SSE framing.

They are never guessed for live bytes, where a second `data:` line continues the same event. For
live NDJSON use `ndjson`, which takes every line as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.wire.framing.frame import Frame
from headrace.wire.framing.sse import SSEFraming
from headrace.wire.limits import DEFAULT_WIRE_LIMITS, WireLimits

# No JSON value begins like this, so a payload is never taken for a field.
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


class SqueezedSSEFraming(SSEFraming):
    """Server-sent events in which every `data:` line ends its frame. An `event:` line before it
    names it; remaining blank lines are harmless."""

    def _take(self, lines: list[bytes]) -> list[Frame]:
        lines_with_ends: list[bytes] = []
        for line in lines:
            lines_with_ends.append(line)
            if line.partition(b":")[0] == b"data":
                lines_with_ends.append(b"")
        return super()._take(lines_with_ends)


class LineFraming(SqueezedSSEFraming):
    """Squeezed SSE in which a line without a field name is also a payload."""

    def __init__(
        self, limits: WireLimits = DEFAULT_WIRE_LIMITS, *, extra_fields: Iterable[str] = ()
    ) -> None:
        super().__init__(limits, extra_fields=extra_fields)
        self._fields = (*_FIELDS, *(name + b":" for name in self._extra_fields))

    def _take(self, lines: list[bytes]) -> list[Frame]:
        return super()._take([self._as_field(line) for line in lines])

    def _take_rest(self, line: bytes) -> None:
        super()._take_rest(self._as_field(line))

    def _as_field(self, line: bytes) -> bytes:
        if line.startswith(self._fields):
            return line
        # Blanks alone are no payload.
        return b"data: " + line if line.strip() else b""

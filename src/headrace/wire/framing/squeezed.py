"""The framing of SSE that lost its blank lines, as in some recordings.

It is never guessed for live bytes, where a second `data:` line continues the same event.
"""

from __future__ import annotations

from headrace.wire.framing.frame import Frame
from headrace.wire.framing.sse import SSEFraming


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

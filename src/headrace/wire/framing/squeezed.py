"""SSE whose blank lines were lost, as in some recordings. Never guessed for live bytes:
there a second `data:` line goes on with the same event."""

from __future__ import annotations

from headrace.wire.framing.frame import Frame
from headrace.wire.framing.sse import SSEFraming


class SqueezedSSEFraming(SSEFraming):
    """Server-sent events in which every `data:` line ends its frame; an `event:` line
    before it names it, and blank lines that are still there do no harm."""

    def _take(self, lines: list[bytes]) -> list[Frame]:
        spread: list[bytes] = []
        for line in lines:
            spread.append(line)
            if line.partition(b":")[0] == b"data":
                spread.append(b"")
        return super()._take(spread)

"""Headrace, fed read by read."""

from __future__ import annotations

from collections.abc import Callable

from headrace import Decoder


def headrace(
    reads: list[bytes], dialect: str, *, framing: str = "sse", keeps_message: bool = True
) -> Callable[[], int]:
    """Decode the reads with a new decoder; the events are counted and dropped."""

    def run() -> int:
        decoder = Decoder(dialect, framing=framing, keeps_message=keeps_message)
        feed = decoder.feed
        seen = 0
        for read in reads:
            seen += len(feed(read))
        return seen + len(decoder.close())

    return run

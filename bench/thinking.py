"""What phases, status and frames cost beside the decoding of the same reasoning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench import streams
from bench.measure import Contestant, race
from bench.ours import headrace
from bench.streams import Stream
from headrace import Decoder
from headrace.events import Record, Stamp
from headrace.phases import PhaseTracker
from headrace.projections.thinking import ThinkingProjection

SMALL, LARGE = 16_000, 64_000
_TOKEN_MS = 20


@dataclass
class Thinking:
    """CPU seconds for a small and a large stream of reasoning."""

    chunks: tuple[int, int]
    decoding_s: tuple[float, float]
    tracking_s: tuple[float, float]
    projecting_s: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Tracker, status and projection, in parts of the decoding."""
        return (self.tracking_s[0] + self.projecting_s[0]) / self.decoding_s[0]

    @property
    def growth(self) -> float:
        """How much longer the large one takes; four times the chunks."""
        large = self.tracking_s[1] + self.projecting_s[1]
        return large / (self.tracking_s[0] + self.projecting_s[0])


def thinking(scale: int, rounds: int, tell: Callable[[str], None]) -> Thinking:
    """Race them over reasoning alone, as a model thinks it: a word a chunk."""
    sizes = (SMALL // scale, LARGE // scale)
    contestants = [one for size in sizes for one in _contestants(size, rounds)]
    race(contestants, tell)
    costs = [one.cost_s for one in contestants]
    decoding, tracking, projecting = ((costs[place], costs[place + 3]) for place in range(3))
    return Thinking(sizes, decoding, tracking, projecting)


def _contestants(chunks: int, rounds: int) -> list[Contestant]:
    stream = streams.chat_reasoning(chunks)
    records = _records(stream)
    decode = headrace(stream.reads, stream.dialect, keeps_message=False)
    return [
        Contestant(f"decoding {chunks:,} chunks", decode, rounds, chunks),
        Contestant("phase tracker", _fed(PhaseTracker, records), rounds, chunks),
        Contestant("thinking projection", _fed(ThinkingProjection, records), rounds, chunks),
    ]


def _records(stream: Stream) -> list[Record]:
    decoder = Decoder(stream.dialect, keeps_message=False)
    times = iter(range(0, 2 * _TOKEN_MS * (len(stream.reads) + 2), _TOKEN_MS))
    stamp = Stamp(lambda: next(times))
    reads = [decoder.feed(read) for read in stream.reads]
    return [record for events in [*reads, decoder.close()] for record in stamp.feed(events)]


def _fed(kind: Callable[[], Any], records: list[Record]) -> Callable[[], int]:
    def run() -> int:
        reader = kind()
        feed = reader.feed
        seen = 0
        for record in records:
            seen += len(feed(record))
        return seen + len(reader.close())

    return run

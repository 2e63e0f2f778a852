"""How time and memory grow with the stream: linear, and flat but for what is kept."""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

from bench import streams
from bench.measure import Contestant, race
from bench.ours import headrace
from bench.streams import Stream
from headrace import Decoder
from headrace.events import TurnEvent

# Arguments are kept until their call ends: in a stream that grows, they stay as they are.
_DELTAS = 20


@dataclass
class Step:
    """One size of one stream."""

    size: str
    events: int
    cost_s: float
    kept_bytes: int
    """The events that came out, which a decoder keeps for its `message` unless told not to."""
    peak_bytes: int
    """The highest memory of a decoder that keeps nothing."""


@dataclass
class Growth:
    """A stream at several sizes, the smallest first."""

    name: str
    steps: list[Step]
    keeps_arguments: bool = False
    """Whether most of the stream is arguments, which wait for the end of their call."""

    @property
    def per_doubling(self) -> float:
        """By how much the time grows when the stream doubles: 2 is linear."""
        first, last = self.steps[0], self.steps[-1]
        doublings = math.log2(last.events / first.events)
        return float((last.cost_s / first.cost_s) ** (1 / doublings))


def growths(scale: int, rounds: int, tell: Callable[[str], None]) -> list[Growth]:
    """All streams; sizes are divided by `scale`."""
    sizes = [1_000 // scale, 10_000 // scale, 100_000 // scale]
    deltas = [5_000 // scale, 10_000 // scale, 20_000 // scale]
    switches = [1_000 // scale, 2_000 // scale, 4_000 // scale]
    cases: list[tuple[str, list[tuple[str, Stream]]]] = [
        ("chat", [(f"{n:,} chunks", streams.chat(n, call_deltas=_DELTAS)) for n in sizes]),
        (
            "Anthropic",
            [(f"{n:,} events", streams.anthropic(n, call_deltas=_DELTAS)) for n in sizes],
        ),
        (
            "chat, one argument",
            [(f"{n:,} deltas", streams.chat_argument(n, n * 50)) for n in deltas],
        ),
        (
            "Anthropic, one argument",
            [(f"{n:,} deltas", streams.anthropic_argument(n, n * 50)) for n in deltas],
        ),
        ("chat, two calls", [(f"{n:,} switches", streams.chat_switches(n)) for n in switches]),
    ]
    return [_growth(name, sized, rounds, tell) for name, sized in cases]


def _growth(
    name: str, sized: list[tuple[str, Stream]], rounds: int, tell: Callable[[str], None]
) -> Growth:
    contestants = [
        Contestant(f"{name}, {size}", headrace(stream.reads, stream.dialect), rounds)
        for size, stream in sized
    ]
    race(contestants, tell)
    steps: list[Step] = []
    for contestant, (size, stream) in zip(contestants, sized, strict=True):
        steps.append(Step(size, stream.events, contestant.cost_s, *_memory(stream)))
    return Growth(name, steps, keeps_arguments="," in name)


def _memory(stream: Stream) -> tuple[int, int]:
    """The bytes of the events alone, and the highest of a decoder that keeps nothing."""
    gc.collect()
    tracemalloc.start()
    events = _events(stream)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    del events
    gc.collect()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    headrace(stream.reads, stream.dialect, keeps_message=False)()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return kept, peak


def _events(stream: Stream) -> list[TurnEvent]:
    decoder = Decoder(stream.dialect, keeps_message=False)
    return [event for read in stream.reads for event in decoder.feed(read)] + decoder.close()

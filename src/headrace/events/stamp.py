"""Stamping: events become records, numbered and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from headrace.events.record import Event, Record


class Stamp:
    """Makes the records of one run or one stream.

    `clock` tells milliseconds since the epoch; it is asked once per `feed`, and a clock
    that goes back is held at the latest time it told.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seq = 0
        self._at_ms = 0

    def feed(
        self, events: Iterable[Event], *, path: tuple[str, ...] = (), step: int = 0
    ) -> list[Record]:
        """The records of these events, all of one moment."""
        at_ms = int(self._clock())
        at_ms = max(at_ms, self._at_ms)
        self._at_ms = at_ms
        seq = self._seq
        records: list[Record] = []
        for event in events:
            seq += 1
            records.append(Record(seq, at_ms, event, path, step))
        self._seq = seq
        return records

    def one(self, event: Event, step: int) -> Record:
        """The record of a single event of the run itself: the short way for the commonest."""
        at_ms = int(self._clock())
        self._at_ms = max(self._at_ms, at_ms)
        self._seq = seq = self._seq + 1
        return Record(seq, self._at_ms, event, (), step)

    def take_back(self, count: int) -> None:
        """The latest so many records were not kept: their numbers are free again."""
        self._seq -= count


def create_wall_clock() -> Callable[[], float]:
    """Milliseconds since the epoch that never go back: wall time now, monotonic from here."""
    # Whole numbers, and the function bound: it is asked for every read.
    now_ns, offset_ns = time.monotonic_ns, time.time_ns() - time.monotonic_ns()
    return lambda: (now_ns() + offset_ns) // 1_000_000

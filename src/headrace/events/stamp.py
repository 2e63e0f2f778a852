"""Turns events into numbered and timed records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from headrace.events.record import Event, Record


class Stamp:
    """Creates the records of one run or one stream.

    `clock` returns milliseconds since the epoch. It is read once per `feed`; if it goes back, the
    latest time is used.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.epoch = 0
        """Written into the records: how often the run has been taken over."""
        self._seq = 0
        self._at_ms = 0

    def continue_after(self, last: Record) -> None:
        """Number the next record after this one, and give it no earlier time."""
        self._seq, self._at_ms = last.seq, last.at_ms

    def feed(
        self, events: Iterable[Event], *, path: tuple[str, ...] = (), step: int = 0
    ) -> list[Record]:
        """Return the records of these events, all with the same time."""
        at_ms = int(self._clock())
        at_ms = max(at_ms, self._at_ms)
        self._at_ms = at_ms
        seq = self._seq
        records: list[Record] = []
        for event in events:
            seq += 1
            records.append(Record(seq, at_ms, event, path, step, self.epoch))
        self._seq = seq
        return records

    def one(self, event: Event, step: int) -> Record:
        """Return the record of a single event of the run itself. This is the fast path for the most
        common case."""
        at_ms = int(self._clock())
        if at_ms > self._at_ms:
            self._at_ms = at_ms
        else:
            # Most events share their millisecond with the one before.
            at_ms = self._at_ms
        self._seq = seq = self._seq + 1
        return Record(seq, at_ms, event, (), step, self.epoch)

    def take_back(self, count: int) -> None:
        """Free the numbers of the latest records, because they were not kept."""
        self._seq -= count


def create_wall_clock() -> Callable[[], float]:
    """Return a clock of milliseconds since the epoch that never goes back: wall time at first,
    monotonic from then on."""
    # Floats, and the function bound: it is asked for every read.
    now_s, offset_ms = time.monotonic, (time.time() - time.monotonic()) * 1000
    return lambda: now_s() * 1000 + offset_ms

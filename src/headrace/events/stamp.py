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

    __slots__ = ("_clock", "at_ms", "epoch", "next_ms_at", "read", "seq")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock if isinstance(clock, WallClock) else WallClock(clock, 1.0, 0.0)
        # Read directly: a record in the millisecond of the one before needs no other call.
        self.read = self._clock.read
        self.epoch = 0
        """Written into the records: how often the run has been taken over."""
        self.seq = 0
        """Number of the last record."""
        self.at_ms = 0
        """Time of the last record."""
        self.next_ms_at = self._clock.find(1)
        """What the clock reads when the next millisecond begins. Most records share theirs with the
        one before: to compare takes a third of the time to convert what was read."""

    def continue_after(self, last: Record) -> None:
        """Number the next record after this one, and give it no earlier time."""
        self.seq, self.at_ms = last.seq, last.at_ms
        self.next_ms_at = self._clock.find(last.at_ms + 1)

    def feed(
        self, events: Iterable[Event], *, path: tuple[str, ...] = (), step: int = 0
    ) -> list[Record]:
        """Return the records of these events, all with the same time."""
        now = self.read()
        if now >= self.next_ms_at:
            self.set_time(now)
        at_ms, seq = self.at_ms, self.seq
        records: list[Record] = []
        for event in events:
            seq += 1
            records.append(Record(seq, at_ms, event, path, step, self.epoch))
        self.seq = seq
        return records

    def one(self, event: Event, step: int) -> Record:
        """Return the record of a single event of the run itself. This is the fast path for the most
        common case."""
        now = self.read()
        if now >= self.next_ms_at:
            self.set_time(now)
        self.seq = seq = self.seq + 1
        return Record(seq, self.at_ms, event, (), step, self.epoch)

    def set_time(self, now: float) -> None:
        """Set the time of the next record from what the clock reads."""
        self.at_ms = max(self.at_ms, int(self._clock.to_ms(now)))
        self.next_ms_at = self._clock.find(self.at_ms + 1)

    def take_back(self, count: int) -> None:
        """Free the numbers of the latest records, because they were not kept."""
        self.seq -= count


class WallClock:
    """A clock of milliseconds since the epoch, made of a function that reads another clock."""

    __slots__ = ("_offset_ms", "_unit_ms", "read")

    def __init__(self, read: Callable[[], float], unit_ms: float, offset_ms: float) -> None:
        self.read = read
        """Returns the time of the other clock."""
        self._unit_ms = unit_ms
        self._offset_ms = offset_ms

    def __call__(self) -> float:
        """Return the milliseconds since the epoch."""
        return self.read() * self._unit_ms + self._offset_ms

    def to_ms(self, reading: float) -> float:
        """Return the milliseconds since the epoch at which `read()` returned this."""
        return reading * self._unit_ms + self._offset_ms

    def find(self, at_ms: int) -> float:
        """Return what `read()` returns at this time."""
        return (at_ms - self._offset_ms) / self._unit_ms


def create_wall_clock() -> Callable[[], float]:
    """Return a clock of milliseconds since the epoch that never goes back: wall time at first,
    monotonic from then on."""
    return WallClock(time.monotonic, 1000.0, (time.time() - time.monotonic()) * 1000)

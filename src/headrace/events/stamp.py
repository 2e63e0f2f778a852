"""Stamping: events become records, numbered and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.events.record import Event, Record


class Stamp:
    """Makes the records of one run or one stream.

    `clock` tells milliseconds since the epoch; it is asked once per `feed`, and a clock
    that goes back is held at the latest time it told.
    """

    def __init__(self, clock: Callable[[], float], *, first_seq: int = 1) -> None:
        self._clock = clock
        self._seq = first_seq - 1
        self._at_ms = 0

    def feed(
        self, events: Iterable[Event], *, path: tuple[str, ...] = (), step: int = 0
    ) -> list[Record]:
        """The records of these events, all of one moment."""
        self._at_ms = at_ms = max(self._at_ms, int(self._clock()))
        first = self._seq + 1
        records = [Record(seq, at_ms, event, path, step) for seq, event in enumerate(events, first)]
        self._seq += len(records)
        return records

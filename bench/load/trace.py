"""Where the time of an event goes, inside the server: a hook of the load test alone.

It notes for some events when they came to the log and when the log had them; with the mark in
the event and the moment at which a client saw it, these are the three parts of its delay.
"""

from __future__ import annotations

import json
import re
import signal
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.load.mark import now_ns
from headrace.events import ReasoningDelta, Record, TextDelta
from headrace.server.storage.log import SQLiteLog, Tail

_EVERY = 8
_MARK = re.compile(r"@(\d+)@")


_MAX_SAMPLES = 100_000


class Samples:
    """Three moments each, in a room that is taken at the start: what the hook needs must not
    look like what a stream needs."""

    def __init__(self) -> None:
        self._moments = array("q", [0]) * (3 * _MAX_SAMPLES)
        self._count = 0

    def add(self, sent_ns: int, came_ns: int, kept_ns: int) -> None:
        if self._count < _MAX_SAMPLES:
            at = 3 * self._count
            self._moments[at], self._moments[at + 1], self._moments[at + 2] = (
                sent_ns,
                came_ns,
                kept_ns,
            )
            self._count += 1

    def take(self) -> dict[int, tuple[int, int]]:
        """All of them, by the moment at which the event was sent; then there are none."""
        moments, self._count = self._moments[: 3 * self._count], 0
        return {
            sent: (came, kept)
            for sent, came, kept in zip(moments[::3], moments[1::3], moments[2::3], strict=True)
        }


class Trace:
    """Samples. They are written to the file, and forgotten, on SIGUSR1."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._samples = Samples()

    def attach(self, log: SQLiteLog) -> None:
        """Look at what is put into this log from now on."""
        tail_of: Callable[[str, int], Tail] = log.tail

        def open_traced(run_id: str, epoch: int = 0) -> Tail:
            return _TracedTail(tail_of(run_id, epoch), self._samples)

        setattr(log, "tail", open_traced)  # noqa: B010 (methods cannot be assigned)
        signal.signal(signal.SIGUSR1, self._write)

    def _write(self, *_: Any) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self._samples.take()))
        part.rename(self._path)


class _TracedTail:
    def __init__(self, tail: Tail, samples: Samples) -> None:
        self._tail = tail
        self._samples = samples

    def put(self, records: Sequence[Record], done: Callable[[Exception | None], None]) -> None:
        event = records[-1].event
        if records[-1].seq % _EVERY or not isinstance(event, TextDelta | ReasoningDelta):
            self._tail.put(records, done)
            return
        came_ns, samples = now_ns(), self._samples

        def traced(error: Exception | None) -> None:
            found = _MARK.search(event.text)
            if found is not None:
                samples.add(int(found[1]), came_ns, now_ns())
            done(error)

        self._tail.put(records, traced)

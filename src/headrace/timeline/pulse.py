"""Characters over time, counted in a bounded number of bins."""

from __future__ import annotations

import msgspec

MAX_BINS = 256


class Pulse(msgspec.Struct, frozen=True, gc=False):
    """Characters of one kind over time, in one row of outputs.

    Bin `n` starts `n * bin_ms` after the timeline's start and is `bin_ms` wide. Bins after the last
    one are empty.
    """

    path: tuple[str, ...]
    output: int
    kind: str
    bin_ms: int
    chars: tuple[int, ...]


class PulseCounter:
    """Counts characters into bins, which grow wider with the stream to stay few."""

    def __init__(self) -> None:
        self._bin_ms = 1
        self._bins: list[int] = []

    def add(self, after_ms: int, chars: int) -> None:
        """Count `chars` that arrived `after_ms` after the start."""
        at = after_ms // self._bin_ms
        while at >= MAX_BINS:
            self._halve()
            at = after_ms // self._bin_ms
        if at >= len(self._bins):
            self._bins += [0] * (at + 1 - len(self._bins))
        self._bins[at] += chars

    def pulse(self, path: tuple[str, ...], output: int, kind: str) -> Pulse:
        """Return what was counted so far."""
        return Pulse(path, output, kind, self._bin_ms, tuple(self._bins))

    def _halve(self) -> None:
        self._bin_ms *= 2
        self._bins = [sum(self._bins[at : at + 2]) for at in range(0, len(self._bins), 2)]

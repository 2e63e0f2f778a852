"""How long a worker that has ended waits until it is started again. Pure: times are passed in."""

from __future__ import annotations

from typing import Final

MAX_FAILURES: Final = 5
"""Failures in a row after which a supervisor without any other worker gives up."""
_FIRST_S: Final = 0.2
_LONGEST_S: Final = 30.0
_STABLE_S: Final = 30.0


class RestartPauses:
    """The pauses of one worker. Each is twice as long as the one before, until a worker has served
    for a while."""

    def __init__(self) -> None:
        self.failures = 0
        """How often in a row the worker has ended soon."""

    def note_end(self, served_s: float) -> float:
        """Return the pause in seconds after a worker that has served for this long; 0 if it never
        got ready."""
        if served_s >= _STABLE_S:
            self.failures = 0
        self.failures += 1
        return min(_FIRST_S * (1 << min(self.failures - 1, 16)), _LONGEST_S)

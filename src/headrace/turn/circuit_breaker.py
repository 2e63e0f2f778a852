"""`CircuitBreaker`: skips a model for a while after it has failed several times in a row."""

from __future__ import annotations

from collections.abc import Callable


class CircuitBreaker:
    """Counts the failures of one model.

    After `failures` in a row the model is skipped for `pause_s` seconds. Then one request may try
    it, and the others still skip it until that one has succeeded, or for another `pause_s`.
    """

    def __init__(self, failures: int, pause_s: float, clock: Callable[[], float]) -> None:
        self._max_failures = failures
        self._pause_s = pause_s
        self._clock = clock
        self._failures = 0
        self._closed_until_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the model has failed too often and has not succeeded since."""
        return self._failures >= self._max_failures

    def allow(self) -> bool:
        """Return whether a request may be sent now. If the model was skipped until now, this is
        the one request that may try it."""
        if not self.is_open:
            return True
        now_s = self._clock()
        if now_s < self._closed_until_s:
            return False
        self._closed_until_s = now_s + self._pause_s
        return True

    def succeed(self) -> None:
        """Note that the model has answered."""
        self._failures = 0

    def fail(self) -> None:
        """Note that the model has failed."""
        self._failures += 1
        if self.is_open:
            self._closed_until_s = self._clock() + self._pause_s

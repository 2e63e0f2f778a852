"""Ctrl-C in the chat: the first stops an answer, the second quits."""

from __future__ import annotations

from collections.abc import Callable

_AGAIN_S = 2.0


class Interrupts:
    """Counts presses of Ctrl-C. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_s: float | None = None
        self._was_idle = False

    def press(self, *, is_idle: bool) -> bool:
        """Return whether to quit: at the second press within two seconds, or at an empty prompt."""
        now_s, last_s = self._clock(), self._last_s
        was_idle, self._was_idle, self._last_s = self._was_idle, is_idle, now_s
        if last_s is None:
            return False
        return now_s - last_s <= _AGAIN_S or (is_idle and was_idle)

    def reset(self) -> None:
        """Forget earlier presses."""
        self._last_s, self._was_idle = None, False

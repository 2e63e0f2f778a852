"""Waiting until the machine is quiet: a delay that another program made is nobody's figure."""

from __future__ import annotations

import time
from pathlib import Path

_LOOK_S = 0.5
_IDLE_SHARE = 0.9


def wait_quiet(within_s: float) -> None:
    """Until nearly nothing else runs, or the time is up."""
    until_s = time.monotonic() + within_s
    while time.monotonic() < until_s:
        idle, total = _ticks()
        time.sleep(_LOOK_S)
        idle_then, total_then = _ticks()
        if idle_then - idle >= _IDLE_SHARE * (total_then - total):
            return


def _ticks() -> tuple[int, int]:
    """Idle ones, and all, of every core."""
    numbers = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)

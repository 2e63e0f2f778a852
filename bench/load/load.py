"""The whole load test: three servers under load, and clients that never read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.load.contestant import BARE, HEADRACE, LITELLM
from bench.load.deaf import Deaf, deaf
from bench.load.level import Timing
from bench.load.ramp import Ramp, ramp

LEAST_STREAMS = 110

_FULL = Timing(start_s=1.5, settle_s=0.7, window_s=3.0)
_QUICK = Timing(start_s=0.3, settle_s=0.3, window_s=0.8, quiet_s=0, tries=1)
_LEVELS = {
    HEADRACE.name: (50, 110, 150, 190, 240, 300, 380, 480, 600),
    BARE.name: (150, 280, 400, 600, 800, 1_100, 1_500),
}
"""Up to more than a server holds: otherwise the number of streams says nothing about it."""
_LITELLM_LEVELS = (4, 8, 16)


@dataclass
class Load:
    """All that was measured."""

    headrace: Ramp
    bare: Ramp
    litellm: Ramp
    deaf: Deaf

    @property
    def ramps(self) -> list[Ramp]:
        return [self.headrace, self.bare, self.litellm]


def under_load(tell: Callable[[str], None], *, is_quick: bool) -> Load:
    """Everybody in turn, on the same cores; about three minutes, or half a minute."""
    if is_quick:
        return Load(
            ramp(HEADRACE, (10,), _QUICK, tell),
            ramp(BARE, (10,), _QUICK, tell),
            ramp(LITELLM, (2,), _QUICK, tell),
            deaf(5, _QUICK, 1, tell),
        )
    return Load(
        ramp(HEADRACE, _LEVELS[HEADRACE.name], _FULL, tell),
        ramp(BARE, _LEVELS[BARE.name], _FULL, tell),
        ramp(LITELLM, _LITELLM_LEVELS, _FULL, tell),
        deaf(50, _FULL, 3, tell),
    )

"""The gateway beside LiteLLM's proxy and a pass-through that reads nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.goal import Goal
from bench.load.contestant import GATEWAY, LITELLM, MESSAGES, RELAY
from bench.load.level import Level, Timing
from bench.load.mark import EVENTS_A_SECOND
from bench.load.ramp import BOUND_MS, Ramp, ramp
from bench.load.report import level_cells

_FULL = Timing(start_s=1.5, settle_s=0.7, window_s=3.0)
_QUICK = Timing(start_s=0.3, settle_s=0.3, window_s=0.8, quiet_s=0, tries=1)
_LEVELS = (32, 64, 96, 128, 160, 200, 240, 280)
_LITELLM_LEVELS = (8, 16, 20, 24, 28, 32, 36, 40, 48)
_LEAST_TIMES_LITELLM = 8.0
_MOST_TIMES_RELAY = 2.0
_TEXT = f"""## As a gateway

The same arrangement; {EVENTS_A_SECOND} events per second and stream from a provider with a Chat
Completions API. *The same API* passes the bytes of the provider on and decodes them for their usage
and their end; *Messages API* translates every event. The pass-through reads nothing.
"""


@dataclass
class Gateways:
    """All that was measured."""

    ramps: list[Ramp]

    def _best(self, name: str) -> int:
        best = next(ramp for ramp in self.ramps if ramp.contestant.name == name).best
        return 0 if best is None else best.streams

    def _cpu_us(self, name: str) -> float:
        """The CPU of an event at the most streams that all but LiteLLM held."""
        names = (GATEWAY.name, RELAY.name)
        streams = min(self._best(other) for other in names)
        found = next(ramp for ramp in self.ramps if ramp.contestant.name == name)
        return found.at(streams).cpu_us

    def goals(self) -> list[Goal]:
        times = self._best(GATEWAY.name) / max(1, self._best(LITELLM.name))
        share = self._cpu_us(GATEWAY.name) / self._cpu_us(RELAY.name)
        return [
            Goal("streams of LiteLLM's proxy", times, _LEAST_TIMES_LITELLM, is_ceiling=False),
            Goal("CPU of a pass-through", share, _MOST_TIMES_RELAY),
        ]


def measure_gateways(tell: Callable[[str], None], *, is_quick: bool) -> Gateways:
    """Everybody in turn, on the same cores."""
    contestants = (GATEWAY, RELAY, MESSAGES)
    if is_quick:
        ramps = [ramp(one, (8,), _QUICK, tell) for one in contestants]
        return Gateways([*ramps, ramp(LITELLM, (2,), _QUICK, tell)])
    ramps = [ramp(one, _LEVELS, _FULL, tell) for one in contestants]
    return Gateways([*ramps, ramp(LITELLM, _LITELLM_LEVELS, _FULL, tell)])


def gateway_section(measured: Gateways) -> str:
    """The tables."""
    lines = [
        _TEXT,
        "| | streams | held | delay p50, ms | p99, ms | CPU, µs per event | KB per stream |"
        " others | first event p50, ms |",
        "|---|---:|:---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in measured.ramps:
        lines += [_format_row(one, level) for level in one.levels]
    bound = (
        f"*Held*: the 99th percentile of the delay stayed within {BOUND_MS:g} ms. *First event*:"
        " from the request to the first event of the answer, while the other streams go on."
    )
    return "\n".join([*lines, "", bound])


def _format_row(ramp: Ramp, level: Level) -> str:
    cells = [*level_cells(ramp, level), f"{level.seen.first_ms(0.5):,.1f}"]
    return "| " + " | ".join(cells) + " |"

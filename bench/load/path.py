"""The CPU time of an event on its whole way, beside servers that do less: interleaved rounds.

All servers are up at the same time and are loaded in turn, with as many streams, so that whatever
else the machine does affects all of them alike. Read the ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median

from bench.goal import Goal
from bench.load.contestant import BARE, HEADRACE, RELAY, Contestant, Served, served
from bench.load.level import Level, Timing, load
from bench.load.mark import EVENTS_A_SECOND

CONTESTANTS = (HEADRACE, RELAY, BARE)
_FULL = Timing(start_s=1.0, settle_s=0.5, window_s=3.0, quiet_s=0, tries=1)
_QUICK = Timing(start_s=0.3, settle_s=0.3, window_s=0.8, quiet_s=0, tries=1)
_STREAMS, _ROUNDS = 90, 5
_WARM_STREAMS = 8
_MOST_TIMES_BARE = 2.7
_MOST_TIMES_RELAY = 1.25
_MOST_KB = 60.0
_TEXT = f"""## The whole path

The same arrangement, {{streams}} streams with {EVENTS_A_SECOND} events per second each. All servers
run on asyncio's event loop, are up at the same time and are loaded in turn; medians of {{rounds}}
rounds, with the lowest and the highest. The pass-through has the same provider and passes its bytes
on unread, without a log; the generator has none.
"""


@dataclass
class Path:
    """What was measured: the levels of all rounds, by contestant."""

    streams: int
    warm: dict[str, Level] = field(default_factory=dict[str, Level])
    levels: dict[str, list[Level]] = field(default_factory=dict[str, list[Level]])

    def cpu_us(self, contestant: Contestant) -> float:
        return median(level.cpu_us for level in self.levels[contestant.name])

    def spread_us(self, contestant: Contestant) -> tuple[float, float]:
        figures = [level.cpu_us for level in self.levels[contestant.name]]
        return min(figures), max(figures)

    def times(self, other: Contestant) -> float:
        """CPU an event of Headrace, as a multiple: the median of the rounds' own ratios."""
        pairs = zip(self.levels[HEADRACE.name], self.levels[other.name], strict=True)
        return median(ours.cpu_us / theirs.cpu_us for ours, theirs in pairs)

    def memory_kb(self, contestant: Contestant) -> float:
        """What a stream takes, beyond the first few."""
        warm = self.warm[contestant.name]
        more = max(1, self.streams - warm.streams)
        grown = [level.memory_bytes for level in self.levels[contestant.name]]
        return (max(grown) - warm.memory_bytes) / more / 1024

    def goals(self) -> list[Goal]:
        return [
            Goal("whole path vs bare generator", self.times(BARE), _MOST_TIMES_BARE),
            Goal("whole path vs pass-through", self.times(RELAY), _MOST_TIMES_RELAY),
            Goal("memory a stream", self.memory_kb(HEADRACE), _MOST_KB, unit=" KB"),
        ]


def measure_path(
    tell: Callable[[str], None], *, is_quick: bool, streams: int = _STREAMS, rounds: int = _ROUNDS
) -> Path:
    """Load everybody in turn, round after round."""
    timing = _QUICK if is_quick else _FULL
    if is_quick:
        streams, rounds = 10, 1
    found = Path(streams)
    with _all_served(timing) as servers:
        for server in servers:
            found.warm[server.contestant.name] = load(server, _WARM_STREAMS, timing)
        for number in range(rounds):
            for server in servers:
                level = load(server, streams, timing)
                found.levels.setdefault(server.contestant.name, []).append(level)
                tell(
                    f"round {number + 1}, {server.contestant.name}: {level.cpu_us:.1f} µs an event,"
                    f" p50 {level.p50_ms:.1f} ms, p99 {level.p99_ms:.1f} ms"
                    f"{'' if level.is_whole else ', NOT WHOLE'}"
                )
    return found


@contextmanager
def _all_served(timing: Timing) -> Iterator[list[Served]]:
    with ExitStack() as stack:
        yield [stack.enter_context(served(one, timing.events)) for one in CONTESTANTS]


def path_section(measured: Path) -> str:
    """The table."""
    rounds = len(measured.levels[HEADRACE.name])
    lines = [
        _TEXT.format(streams=measured.streams, rounds=rounds),
        "| | CPU, µs per event | lowest, highest | Headrace is | delay p50, ms | p99, ms"
        " | KB per stream |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_format_row(measured, one) for one in CONTESTANTS]
    return "\n".join(lines)


def _format_row(measured: Path, one: Contestant) -> str:
    levels = measured.levels[one.name]
    low, high = measured.spread_us(one)
    cells = [
        one.title,
        f"{measured.cpu_us(one):.1f}",
        f"{low:.1f}, {high:.1f}",
        "" if one is HEADRACE else f"{measured.times(one):.2f}x",
        f"{median(level.p50_ms for level in levels):.1f}",
        f"{median(level.p99_ms for level in levels):.1f}",
        f"{measured.memory_kb(one):.0f}",
    ]
    return "| " + " | ".join(cells) + " |"

"""How many streams a server holds: level after level, until its delay passes the bound."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.load.contestant import HEADRACE, Contestant, Served, served
from bench.load.level import Level, Timing, load
from bench.load.split import Part, split

BOUND_MS = 20.0
# Another program on the server's core, for more than this share of the window, is no load of
# ours: the level is tried again.
_FOREIGN_SHARE = 0.04


@dataclass
class Ramp:
    """What came of all levels."""

    contestant: Contestant
    warm: Level
    levels: list[Level] = field(default_factory=list[Level])
    parts: list[Part] = field(default_factory=list[Part])
    """Of the highest level that held."""

    @property
    def best(self) -> Level | None:
        """The highest level that held."""
        held = [level for level in self.levels if level.holds(BOUND_MS)]
        return max(held, key=lambda level: level.streams, default=None)

    @property
    def is_bounded(self) -> bool:
        """Whether a level did not hold, so that `best` is what the server can do."""
        return not self.levels[-1].holds(BOUND_MS)

    def at(self, streams: int) -> Level:
        """The level of so many streams, or the nearest."""
        return min(self.levels, key=lambda level: abs(level.streams - streams))

    def memory_kb(self, level: Level) -> float:
        """What a stream more takes, beyond what the first few have warmed up."""
        more = max(1, level.streams - self.warm.streams)
        return (level.memory_bytes - self.warm.memory_bytes) / more / 1024


def ramp(
    contestant: Contestant,
    streams: Sequence[int],
    timing: Timing,
    tell: Callable[[str], None],
) -> Ramp:
    """Raise the load. It ends behind the first level that does not hold by its own fault."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        more = (str(trace),) if contestant is HEADRACE else ()
        with served(contestant, timing.events, *more) as server:
            tell(f"{contestant.name}: warming up")
            climbed = Ramp(contestant, load(server, max(1, streams[0] // 5), timing))
            for number in streams:
                level = _tried(server, number, timing, tell)
                climbed.levels.append(level)
                parts = split(server.process, trace, level.seen) if more else []
                if level.holds(BOUND_MS):
                    climbed.parts = parts
                elif not _is_disturbed(level):
                    break
    return climbed


def _tried(server: Served, streams: int, timing: Timing, tell: Callable[[str], None]) -> Level:
    """The level, undisturbed if that can be had; else the quietest try."""
    tries: list[Level] = []
    for _ in range(timing.tries):
        level = load(server, streams, timing)
        tries.append(level)
        tell(
            f"{server.contestant.name}: {streams} streams, p99 {level.p99_ms:.1f} ms,"
            f" {level.cpu_us:.0f} µs an event, others had {level.foreign_s:.1f} s"
        )
        if level.holds(BOUND_MS) or not _is_disturbed(level):
            return level
    return min(tries, key=lambda level: level.p99_ms)


def _is_disturbed(level: Level) -> bool:
    return level.foreign_s > _FOREIGN_SHARE * level.window_s

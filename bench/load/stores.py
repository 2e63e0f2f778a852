"""One server on SQLite beside one on PostgreSQL, one on PostgreSQL with two workers, and one on
PostgreSQL and Valkey, under the same load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.goal import Goal
from bench.load.contestant import (
    HEADRACE,
    POSTGRES,
    VALKEY,
    WORKERS,
    Contestant,
    Served,
    served,
)
from bench.load.level import Level, Timing, load
from bench.load.mark import EVENTS_A_SECOND

_FULL = Timing(start_s=1.5, settle_s=0.7, window_s=4.0)
_QUICK = Timing(start_s=0.3, settle_s=0.3, window_s=0.8, quiet_s=0, tries=1)
_STREAMS = (10, 50)
_ROUNDS = 3
_MOST_TIMES_SQLITE = 1.6
_MOST_TIMES_ONE_WORKER = 1.10
_MOST_P99_MS = 80.0
_MOST_VALKEY_P99_MS = 30.0
_HELD_MS = {HEADRACE.name: 20.0, POSTGRES.name: _MOST_P99_MS, VALKEY.name: _MOST_VALKEY_P99_MS}
"""The 99th percentile of the delay within which streams count as held."""
_HELD_LEVELS = (80, 110, 140, 170, 200, 230)
_TITLES = {
    HEADRACE.name: "SQLite",
    POSTGRES.name: "PostgreSQL",
    WORKERS.name: "PostgreSQL, 2 workers",
    VALKEY.name: "Valkey + PostgreSQL",
}
_TEXT = f"""## On a database that several servers share

The same arrangement, {EVENTS_A_SECOND} events per second and stream: a server on its own SQLite
file; one on a PostgreSQL with its default settings, which commits to the disk before a record is
sent; one with two workers on the same PostgreSQL, which share the core of the others and whose CPU
time is added up with that of their supervisor; and one on the same PostgreSQL with a Valkey for
live answers, which writes to the disk once a second. PostgreSQL and Valkey run on the other core,
beside the provider and the clients. Medians of {_ROUNDS} interleaved rounds. *Held* is the largest
of {", ".join(map(str, _HELD_LEVELS))} streams whose 99th percentile stayed within 20 ms with
SQLite, {_MOST_P99_MS:g} ms with PostgreSQL and {_MOST_VALKEY_P99_MS:g} ms with Valkey, in one of
two tries.
"""


@dataclass
class Stores:
    """What was measured: the levels of each round, by contestant and number of streams."""

    levels: dict[tuple[str, int], list[Level]] = field(
        default_factory=dict[tuple[str, int], list[Level]]
    )
    held: dict[str, int] = field(default_factory=dict[str, int])
    """The most streams that each held, by contestant; absent if that was not measured."""

    def cpu_us(self, name: str, streams: int) -> float:
        return median(level.cpu_us for level in self.levels[name, streams])

    def p50_ms(self, name: str, streams: int) -> float:
        return median(level.p50_ms for level in self.levels[name, streams])

    def p99_ms(self, name: str, streams: int) -> float:
        return median(level.p99_ms for level in self.levels[name, streams])

    def times_one_worker(self, streams: int, of_two: int) -> float:
        """CPU an event of two workers with `of_two` streams, as a multiple of one worker with
        `streams`: the median of the rounds' own ratios."""
        pairs = zip(
            self.levels[WORKERS.name, of_two], self.levels[POSTGRES.name, streams], strict=True
        )
        return median(two.cpu_us / one.cpu_us for two, one in pairs)

    def goals(self) -> list[Goal]:
        most = max(streams for name, streams in self.levels if name == POSTGRES.name)
        times = self.cpu_us(POSTGRES.name, most) / self.cpu_us(HEADRACE.name, most)
        delay_ms = self.p99_ms(POSTGRES.name, most)
        valkey = self.cpu_us(VALKEY.name, most) / self.cpu_us(HEADRACE.name, most)
        valkey_ms = self.p99_ms(VALKEY.name, most)
        return [
            Goal("CPU on PostgreSQL vs SQLite", times, _MOST_TIMES_SQLITE),
            Goal(f"p99 on PostgreSQL, {most} streams", delay_ms, _MOST_P99_MS, unit=" ms"),
            Goal(
                "CPU of 2 workers vs 1, same streams",
                self.times_one_worker(most, most),
                _MOST_TIMES_ONE_WORKER,
            ),
            Goal(
                "CPU of 2 workers vs 1, twice the streams",
                self.times_one_worker(most, 2 * most),
                _MOST_TIMES_ONE_WORKER,
            ),
            Goal("CPU on Valkey vs SQLite", valkey, _MOST_TIMES_SQLITE),
            Goal(f"p99 on Valkey, {most} streams", valkey_ms, _MOST_VALKEY_P99_MS, unit=" ms"),
        ]


def measure_stores(tell: Callable[[str], None], *, is_quick: bool) -> Stores:
    """All in turn, on the same cores."""
    timing, rounds, all_streams = (_QUICK, 1, (5,)) if is_quick else (_FULL, _ROUNDS, _STREAMS)
    found = Stores()
    for number in range(rounds):
        for contestant in (HEADRACE, POSTGRES, WORKERS, VALKEY):
            with served(contestant, timing.events) as server:
                load(server, 4, timing)
                for streams in _list_levels(contestant, all_streams):
                    level = load(server, streams, timing)
                    found.levels.setdefault((contestant.name, streams), []).append(level)
                    tell(
                        f"round {number + 1}, {contestant.name}: {streams} streams, p99"
                        f" {level.p99_ms:.1f} ms, {level.cpu_us:.0f} µs an event"
                    )
                if number == rounds - 1 and contestant.name in _HELD_MS and not is_quick:
                    found.held[contestant.name] = _find_most(server, timing, tell)
    return found


def _list_levels(contestant: Contestant, streams: Sequence[int]) -> list[int]:
    """Return how many streams to try. Two workers are compared with one for the same streams, and
    for twice as many: then each of them commits as much at once as one alone."""
    return sorted({*streams, *(2 * n for n in streams if contestant is WORKERS)})


def _find_most(server: Served, timing: Timing, tell: Callable[[str], None]) -> int:
    """Return how many streams a server holds: more and more, until two tries fail."""
    name, held = server.contestant.name, max(_STREAMS)
    for streams in _HELD_LEVELS:
        for _ in range(timing.tries):
            level = load(server, streams, timing)
            tell(f"{name}: {streams} streams, p99 {level.p99_ms:.1f} ms")
            if level.holds(_HELD_MS[name]):
                held = streams
                break
        if held != streams:
            break
    return held


def stores_section(measured: Stores) -> str:
    """The table."""
    lines = [
        _TEXT,
        "| | streams | delay p50, ms | p99, ms | CPU of the server, µs per event | held |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, streams in measured.levels:
        lines.append(
            f"| {_TITLES[name]} | {streams} | {measured.p50_ms(name, streams):.1f}"
            f" | {measured.p99_ms(name, streams):.1f} | {measured.cpu_us(name, streams):.0f}"
            f" | {measured.held.get(name, '')} |"
        )
    return "\n".join(lines)

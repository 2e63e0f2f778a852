"""Clients that ask and never read, beside good ones: what the good ones notice of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.load.contestant import HEADRACE, served
from bench.load.level import Level, Timing, load


@dataclass
class Deaf:
    """The quietest of several rounds, with and without."""

    clients: int
    alone: Level
    beside: Level

    @property
    def moved_ms(self) -> float:
        """How much later the good ones' events came."""
        return self.beside.p99_ms - self.alone.p99_ms


def deaf(clients: int, timing: Timing, rounds: int, tell: Callable[[str], None]) -> Deaf:
    """So many good clients, with and without as many that never read."""
    alone: list[Level] = []
    beside: list[Level] = []
    with served(HEADRACE, timing.events) as server:
        for number in range(rounds):
            tell(f"never-reading clients: round {number + 1} of {rounds}")
            alone.append(load(server, clients, timing))
            beside.append(load(server, clients, timing, deaf=clients))
    return Deaf(clients, _best(alone), _best(beside))


def _best(levels: list[Level]) -> Level:
    return min(levels, key=lambda level: level.p99_ms)

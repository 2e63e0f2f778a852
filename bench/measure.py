"""CPU time, interleaved: every contestant meets the same noise, and nobody another's rubbish."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

_SETTLED_S = 0.001
_PAUSE_S = 0.02
_MAX_PAUSES = 250


@dataclass
class Contestant:
    """Something to run. Slow ones take part in fewer rounds, spread over all."""

    name: str
    run: Callable[[], int]
    rounds: int
    least: int = 0
    """What a run must count at least: a peer that gives up early is not fast."""
    seconds: list[float] = field(default_factory=list[float])

    @property
    def cost_s(self) -> float:
        return median(self.seconds)

    def third_s(self, number: int) -> float:
        """The median of the first, second or last third of the rounds: three runs in one."""
        size = max(1, len(self.seconds) // 3)
        return median(self.seconds[number * size : (number + 1) * size] or self.seconds)


def race(contestants: Sequence[Contestant], tell: Callable[[str], None]) -> None:
    """Warm everybody up, then fill in their `seconds`."""
    for contestant in contestants:
        tell(f"warming up {contestant.name}")
        _run(contestant)
    gc.collect()
    # What is imported by now is not looked through again on anybody's account.
    gc.freeze()
    rounds = max(contestant.rounds for contestant in contestants)
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}")
        for contestant in contestants:
            if _takes_part(contestant, number, rounds):
                contestant.seconds.append(_run(contestant))
    gc.unfreeze()


def _takes_part(contestant: Contestant, number: int, rounds: int) -> bool:
    """Whether the round is one of the contestant's, which lie evenly among all."""
    share = contestant.rounds
    return (number + 1) * share // rounds > number * share // rounds


def _run(contestant: Contestant) -> float:
    gc.collect()
    _settle()
    start = time.process_time()
    seen = contestant.run()
    spent = time.process_time() - start
    if seen < contestant.least:
        raise RuntimeError(f"{contestant.name} gave {seen} of at least {contestant.least} events")
    return spent


def _settle() -> None:
    """Wait until no thread of an earlier contestant works any more."""
    for _ in range(_MAX_PAUSES):
        start = time.process_time()
        time.sleep(_PAUSE_S)
        if time.process_time() - start < _SETTLED_S:
            return

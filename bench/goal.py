"""`Goal`: one promise of `make bench`, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PER_DOUBLING = 2.2
"""By how much a time may grow when its stream doubles; 2 is linear."""


@dataclass
class Goal:
    """One promise and what came of it."""

    name: str
    value: float
    bound: float
    is_ceiling: bool = True
    unit: str = "x"

    @property
    def is_met(self) -> bool:
        return self.value <= self.bound if self.is_ceiling else self.value >= self.bound

    def __str__(self) -> str:
        sign, verdict = "≤" if self.is_ceiling else "≥", "ok" if self.is_met else "MISSED"
        value = f"{self.value:.2f}" if self.value < 10 else f"{self.value:.1f}"
        return f"{self.name}: {value}{self.unit} (goal {sign} {self.bound:g}{self.unit}) {verdict}"

"""What an import costs, in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from statistics import median


def import_costs(
    statements: Sequence[str], rounds: int, tell: Callable[[str], None]
) -> dict[str, float]:
    """CPU milliseconds of each statement beyond a bare interpreter, the medians of rounds
    that are interleaved."""
    bare: list[float] = []
    spent: dict[str, list[float]] = {statement: [] for statement in statements}
    for statement in statements:
        _cpu_ms(statement)  # writes what bytecode is missing
    for number in range(rounds):
        tell(f"imports, round {number + 1} of {rounds}")
        bare.append(_cpu_ms("pass"))
        for statement, costs in spent.items():
            costs.append(_cpu_ms(statement))
    return {statement: median(costs) - median(bare) for statement, costs in spent.items()}


def _cpu_ms(statement: str) -> float:
    before = _children_s()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return (_children_s() - before) * 1000


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

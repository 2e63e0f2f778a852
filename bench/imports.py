"""What an import, or `headrace --help`, costs in a process of its own."""

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


def help_cost_ms(rounds: int) -> float:
    """Return the CPU milliseconds of `headrace --help`, interpreter included: the median."""
    _command_ms("-m", "headrace", "--help")  # writes what bytecode is missing
    return median(_command_ms("-m", "headrace", "--help") for _ in range(rounds))


def _cpu_ms(statement: str) -> float:
    return _command_ms("-c", statement)


def _command_ms(*arguments: str) -> float:
    before = _children_s()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return (_children_s() - before) * 1000


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

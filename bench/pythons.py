"""Decoding and an agent's turn on each supported version of Python that is installed.

`python -m bench.pythons` prints the figures of the interpreter that runs it, as JSON. An
environment for each version is created on first use.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench import streams
from bench.engine import engine
from bench.floor import floor
from bench.measure import Contestant, race
from bench.ours import headrace

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
_EVENTS, _ROUNDS = 20_000, 3
_NEEDED = ("-e", ".", "orjson")
_FLOOR, _CHAT, _ANTHROPIC, _TURN = "floor", "chat", "anthropic", "turn"
_TEXT = """## Python versions

Microseconds of CPU per event; each version in an environment of its own, medians of {rounds}
processes that take turns. Versions that are not installed here are missing.

| Python | floor, chat | Headrace, chat | Headrace, Anthropic | an agent's turn |
|---|---:|---:|---:|---:|
"""


@dataclass
class VersionFigures:
    """The figures of one version, by what was measured: one per process."""

    version: str
    costs_us: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def cost_us(self, name: str) -> float:
        """Return the median of the processes."""
        return median(self.costs_us[name])


def measure_pythons(tell: Callable[[str], None], *, is_quick: bool) -> list[VersionFigures]:
    """Measure all versions that are installed, in turns."""
    events, rounds = (_EVENTS // 10, 1) if is_quick else (_EVENTS, _ROUNDS)
    pythons = {version: path for version in VERSIONS if (path := _find_python(version, tell))}
    found = {version: VersionFigures(version) for version in pythons}
    for number in range(rounds):
        for version, python in pythons.items():
            tell(f"Python {version}, round {number + 1} of {rounds}")
            for name, cost_us in _measure_in(python, events).items():
                found[version].costs_us.setdefault(name, []).append(cost_us)
    return list(found.values())


def pythons_section(found: list[VersionFigures]) -> str:
    """Return the table."""
    rounds = len(found[0].costs_us[_FLOOR]) if found else 0
    rows = [
        f"| {one.version} | "
        + " | ".join(f"{one.cost_us(name):.2f}" for name in (_FLOOR, _CHAT, _ANTHROPIC, _TURN))
        + " |"
        for one in found
    ]
    return _TEXT.format(rounds=rounds) + "\n".join(rows)


def _find_python(version: str, tell: Callable[[str], None]) -> str | None:
    """Return the interpreter of an environment with Headrace; None without such a Python."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    folder = ROOT / f".venv-bench-{version}"
    python, stamp = folder / "bin" / "python", folder / ".stamp"
    if stamp.exists():
        return str(python)
    for interpreter in _list_interpreters(version):
        tell(f"Python {version}: creating {folder.name}")
        try:
            _run(interpreter, "-m", "venv", "--clear", str(folder))
            _run(str(python), "-m", "pip", "install", "-qq", *_NEEDED)
        except (OSError, subprocess.CalledProcessError):
            continue
        stamp.touch()
        return str(python)
    tell(f"Python {version} is not installed")
    return None


def _list_interpreters(version: str) -> list[str]:
    """Return where a version may be. A pyenv has versions that are not on the PATH."""
    inside = Path.home() / ".pyenv" / "versions"
    return [f"python{version}", *map(str, inside.glob(f"{version}*/bin/python{version}"))]


def _run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, check=True, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return done.stdout


def _measure_in(python: str, events: int) -> dict[str, float]:
    found: dict[str, float] = json.loads(_run(python, "-m", "bench.pythons", str(events)))
    return found


def _measure_here(events: int) -> dict[str, float]:
    chat, anthropic = streams.chat(events).reads, streams.anthropic(events).reads
    contestants = [
        Contestant(_FLOOR, floor(chat), 5),
        Contestant(_CHAT, headrace(chat, "chat"), 5),
        Contestant(_ANTHROPIC, headrace(anthropic, "anthropic"), 5),
        Contestant(_TURN, engine(streams.chat_answer(events).reads), 5),
    ]
    race(contestants, lambda _: None)
    return {one.name: one.cost_s / events * 1e6 for one in contestants}


if __name__ == "__main__":
    print(json.dumps(_measure_here(int(sys.argv[1]) if len(sys.argv) > 1 else _EVENTS)))

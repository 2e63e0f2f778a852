"""The three parts of an event's delay: to the log, in it, and to the client."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from bench.load.generator import Seen
from bench.load.process import Process

_WAIT_S = 5.0


@dataclass
class Part:
    """One part of the way, over all samples."""

    name: str
    delays_ms: list[float]

    def within_ms(self, share: float) -> float:
        delays = sorted(self.delays_ms)
        return delays[min(len(delays) - 1, int(len(delays) * share))] if delays else 0.0


def split(process: Process, trace: Path, seen: Seen) -> list[Part]:
    """Of the events that the server has sampled and a client has seen."""
    trace.unlink(missing_ok=True)
    process.tell(signal.SIGUSR1)
    samples = {int(sent): moments for sent, moments in json.loads(_written(trace)).items()}
    rows = [(sent, *samples[sent], at) for sent, at in seen.events if sent in samples]
    return [
        Part("upstream: sent → decoded", [(came - sent) / 1e6 for sent, came, _, _ in rows]),
        Part(
            "commit wait: decoded → in the log", [(kept - came) / 1e6 for _, came, kept, _ in rows]
        ),
        Part("send: in the log → seen", [(at - kept) / 1e6 for _, _, kept, at in rows]),
    ]


def _written(trace: Path) -> str:
    until_s = time.monotonic() + _WAIT_S
    while not trace.exists():
        if time.monotonic() > until_s:
            raise RuntimeError("the server does not write its trace")
        time.sleep(0.02)
    return trace.read_text()

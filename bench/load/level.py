"""One level of load: so many streams for a while, and what they cost."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from bench.load.contestant import OTHER_CORE, Served
from bench.load.generator import BEGUN, ENDED, Job, Seen
from bench.load.mark import EVENTS_A_SECOND
from bench.load.process import running
from bench.load.quiet import wait_quiet

# A server that delivers less is not fast but full.
_LEAST_SHARE = 0.97


@dataclass
class Level:
    """What was measured in the window."""

    streams: int
    cpu_s: float
    window_s: float
    memory_bytes: int
    foreign_s: float
    """What others had of the server's core."""
    seen: Seen

    @property
    def events(self) -> int:
        return len(self.seen.events)

    @property
    def p50_ms(self) -> float:
        return self.seen.delay_ms(0.5)

    @property
    def p99_ms(self) -> float:
        return self.seen.delay_ms(0.99)

    @property
    def cpu_us(self) -> float:
        """Of CPU an event."""
        return self.cpu_s / max(1, self.events) * 1e6

    @property
    def is_whole(self) -> bool:
        """Whether nearly all came that was sent."""
        wanted = self.streams * self.window_s * EVENTS_A_SECOND
        return self.events >= wanted * _LEAST_SHARE and self.seen.refused == 0

    def holds(self, bound_ms: float) -> bool:
        return self.is_whole and self.p99_ms <= bound_ms


@dataclass
class Timing:
    """How long a level takes."""

    start_s: float = 2.0
    settle_s: float = 1.0
    window_s: float = 4.0
    quiet_s: float = 5.0
    """How long to wait for a quiet machine."""
    tries: int = 2
    """How often, where others disturb it."""

    @property
    def events(self) -> int:
        """How many events an answer must have to last."""
        whole_s = self.start_s + self.settle_s + self.window_s
        return int((whole_s + 1) * EVENTS_A_SECOND)


def load(server: Served, streams: int, timing: Timing, *, deaf: int = 0) -> Level:
    """Put the server under this load, and leave it at rest."""
    job = Job(
        server.port,
        server.request,
        streams,
        timing.start_s,
        timing.settle_s,
        timing.window_s,
        deaf,
    )
    wait_quiet(timing.quiet_s)
    with running("bench.load.generator", json.dumps(asdict(job)), core=OTHER_CORE) as clients:
        assert clients.line() == BEGUN
        before_s, foreign_s = server.process.cpu_s, server.process.foreign_s
        assert clients.line() == ENDED
        spent_s = server.process.cpu_s - before_s
        foreign_s = server.process.foreign_s - foreign_s
        memory = server.process.memory_bytes
        seen = Seen(**json.loads(clients.line()))
    server.wait_idle()
    return Level(streams, spent_s, timing.window_s, memory, foreign_s, seen)

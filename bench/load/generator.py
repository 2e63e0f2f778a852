"""Clients in a process of their own: so many streams, and how late each event came.

Told by a `Job` as its only argument. It prints a line when its window begins and one when that
ends, so that others can measure the same window, and then what it saw, as JSON.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from dataclasses import asdict, dataclass, field

from bench.load.mark import Marks, now_ns

BEGUN, ENDED = "begun", "ended"


@dataclass
class Job:
    """What to do."""

    port: int
    request: str
    streams: int
    start_s: float
    """Over which time the streams are opened."""
    settle_s: float
    window_s: float
    deaf: int = 0
    """Clients beside the streams that ask and never read."""


@dataclass
class Seen:
    """What came of it: (mark, moment) of every event in the window."""

    events: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    open: int = 0
    """Streams that went on when the window ended."""
    refused: int = 0
    first_ns: list[int] = field(default_factory=list[int])
    """How long each stream took from its request to the first event."""
    provider_ns: list[int] = field(default_factory=list[int])
    """How long each stream took from its request until the provider sent the first event."""

    def first_ms(self, share: float) -> float:
        """The time to the first event that this share of the streams stayed within."""
        return _find_ms(self.first_ns, share)

    def provider_ms(self, share: float) -> float:
        """The time to the provider's first event that this share of the streams stayed within."""
        return _find_ms(self.provider_ns, share)

    def delay_ms(self, share: float) -> float:
        """The delay that this share of the events stayed within."""
        return _find_ms([seen - sent for sent, seen in self.events], share)


def _find_ms(times_ns: list[int], share: float) -> float:
    times = sorted(times_ns)
    return times[min(len(times) - 1, int(len(times) * share))] / 1e6 if times else float("inf")


class _Clients:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._poll = select.epoll()
        self._marks: dict[int, tuple[socket.socket, Marks]] = {}
        self._asked_ns: dict[int, int] = {}
        self._deaf: list[socket.socket] = []
        self.seen = Seen()

    def run(self) -> Seen:
        job = self._job
        start = now_ns()
        total = job.streams + job.deaf
        pause_ns = int(job.start_s * 1e9) // total
        for number in range(total):
            # Both kinds come mixed, as they would.
            is_deaf = (number + 1) * job.deaf // total > number * job.deaf // total
            self._open(is_deaf=is_deaf)
            self._read(start + (number + 1) * pause_ns)
        self._read(now_ns() + int(job.settle_s * 1e9))
        self.seen.events.clear()
        print(BEGUN, flush=True)
        self._read(now_ns() + int(job.window_s * 1e9))
        print(ENDED, flush=True)
        self.seen.open = len(self._marks)
        return self.seen

    def _open(self, *, is_deaf: bool) -> None:
        peer = socket.create_connection(("127.0.0.1", self._job.port), timeout=10)
        asked_ns = now_ns()
        peer.sendall(self._job.request.encode())
        peer.setblocking(False)
        if is_deaf:
            self._deaf.append(peer)
            return
        self._marks[peer.fileno()] = peer, Marks()
        self._asked_ns[peer.fileno()] = asked_ns
        self._poll.register(peer, select.EPOLLIN)

    def _read(self, until_ns: int) -> None:
        events = self.seen.events
        while (left_ns := until_ns - now_ns()) > 0:
            for number, _ in self._poll.poll(left_ns / 1e9):
                peer, marks = self._marks[number]
                try:
                    data = peer.recv(262_144)
                except OSError:
                    data = b""
                if not data:
                    self._poll.unregister(number)
                    del self._marks[number]
                    peer.close()
                    continue
                if data.startswith(b"HTTP/1.1") and not data.startswith(b"HTTP/1.1 200"):
                    self.seen.refused += 1
                now = now_ns()
                found = marks.feed(data)
                if found and number in self._asked_ns:
                    asked_ns = self._asked_ns.pop(number)
                    self.seen.first_ns.append(now - asked_ns)
                    self.seen.provider_ns.append(found[0] - asked_ns)
                events.extend((sent, now) for sent in found)


if __name__ == "__main__":
    seen = _Clients(Job(**json.loads(sys.argv[1]))).run()
    print(json.dumps(asdict(seen)))

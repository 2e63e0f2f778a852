"""The CPU time of an event on a machine that others use too: `python -m bench.load.lockstep [K]`.

K events are sent at once, each on another stream, and the next ones when all of them have arrived.
So a server has the same batches however busy the machine is, and figures of different versions can
be compared. `HEADRACE_OTHER=folder` adds the version in that source folder, interleaved.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

from bench.load.contestant import HEADRACE, OTHER_CORE, RELAY, SERVER_CORE, Contestant
from bench.load.mark import Marks, now_ns
from bench.load.process import Process, running
from bench.load.upstream import HEAD, make_event

_STREAMS, _ROUNDS, _TICKS, _EVENTS = 84, 4, 300, 14


class Rig:
    """A server with its provider and its clients, which are in this process."""

    def __init__(self, process: Process, listener: socket.socket, contestant: Contestant) -> None:
        self._process = process
        self._poll = select.epoll()
        self._providers: list[socket.socket] = []
        self._clients: dict[int, tuple[socket.socket, Marks]] = {}
        self._next = 0
        port = process.port()
        request = contestant.request(port).encode()
        for number in range(_STREAMS):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(request)
            self._clients[client.fileno()] = client, Marks()
            self._poll.register(client, select.EPOLLIN)
            provider, _ = listener.accept()
            provider.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            provider.recv(65_536)
            provider.sendall(HEAD)
            self._providers.append(provider)
            self._step([number])

    def _step(self, numbers: list[int]) -> None:
        for number in numbers:
            self._providers[number].sendall(make_event(now_ns()))
        left = len(numbers)
        while left:
            for descriptor, _ in self._poll.poll():
                client, marks = self._clients[descriptor]
                left -= len(marks.feed(client.recv(262_144)))

    def measure(self, events: int) -> float:
        """Return the CPU time of an event, in microseconds."""
        before_s = self._process.cpu_s
        for _ in range(_TICKS):
            self._step([(self._next + place) % _STREAMS for place in range(events)])
            self._next += events
        return (self._process.cpu_s - before_s) / (_TICKS * events) * 1e6


@contextmanager
def _rig(contestant: Contestant, source: str | None) -> Iterator[Rig]:
    before = os.environ.pop("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, before]))
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0), backlog=_STREAMS) as listener,
        running(
            "bench.load.server", contestant.name,
            f"http://127.0.0.1:{listener.getsockname()[1]}/v1", folder, core=SERVER_CORE,
        ) as process,
    ):  # fmt: skip
        os.environ["PYTHONPATH"] = before
        yield Rig(process, listener, contestant)


def main(events: int) -> None:
    contestants: dict[str, tuple[Contestant, str | None]] = {
        "headrace": (HEADRACE, None),
        "pass-through": (RELAY, None),
    }
    other = os.environ.get("HEADRACE_OTHER")
    if other is not None:
        contestants["other headrace"] = (HEADRACE, other)
    with ExitStack() as stack:
        rigs = {name: stack.enter_context(_rig(*one)) for name, one in contestants.items()}
        figures = {name: list[float]() for name in rigs}
        for _ in range(_ROUNDS):
            for name, rig in rigs.items():
                figures[name].append(rig.measure(events))
    for name, costs in figures.items():
        print(f"{name:14} {median(costs):5.1f} µs an event, {min(costs):.1f} to {max(costs):.1f}")


if __name__ == "__main__":
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[OTHER_CORE % len(cores)]})
    main(int(sys.argv[1]) if len(sys.argv) > 1 else _EVENTS)

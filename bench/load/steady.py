"""A server under steady load for a while: what it writes to the disk, and the size of its WAL."""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.load.contestant import HEADRACE, OTHER_CORE, SERVER_CORE
from bench.load.generator import BEGUN, ENDED, Job, Seen
from bench.load.process import Process, running

LOADS = ((50, 20), (300, 5), (1, 20))
"""Streams, and events per second of each."""
_WINDOW_S = 40.0
_SETTLE_S = 1.0
_SAMPLE_S = 0.02


@dataclass
class SteadyLoad:
    """The figures of one load."""

    streams: int
    rate: int
    """Events per second of a stream."""
    events: int
    written_bytes: int
    """What the server has written to files: WAL, database and log."""
    wal_bytes: int
    """Largest size of the WAL file."""
    p50_ms: float
    p99_ms: float
    is_whole: bool
    """Whether no stream was refused or broken off."""

    @property
    def bytes_per_event(self) -> float:
        return self.written_bytes / max(1, self.events)


def steady_loads(tell: Callable[[str], None], *, is_quick: bool) -> list[SteadyLoad]:
    """Put a server under each load."""
    window_s = _WINDOW_S / (10 if is_quick else 1)
    found: list[SteadyLoad] = []
    for streams, rate in LOADS:
        tell(f"steady load: {streams} streams of {rate} events/s for {window_s:.0f} s")
        found.append(_measure(streams, rate, window_s))
    return found


def _measure(streams: int, rate: int, window_s: float) -> SteadyLoad:
    start_s = max(1.0, streams / 100)
    # An answer lasts until the window has ended.
    events = int((start_s + _SETTLE_S + window_s + 2) * rate)
    with (
        tempfile.TemporaryDirectory() as folder,
        running("bench.load.upstream", str(events), str(rate), core=OTHER_CORE) as upstream,
        running(
            "bench.load.server", HEADRACE.name, f"http://127.0.0.1:{upstream.port()}/v1", folder,
            core=SERVER_CORE,
        ) as server,
    ):  # fmt: skip
        port = server.port()
        job = Job(port, HEADRACE.request(port), streams, start_s, _SETTLE_S, window_s)
        with running("bench.load.generator", json.dumps(asdict(job)), core=OTHER_CORE) as clients:
            assert clients.line() == BEGUN
            with _WALWatcher(Path(folder) / "headrace.db-wal") as wal:
                before = written_bytes(server)
                assert clients.line() == ENDED
                written = written_bytes(server) - before
            seen = Seen(**json.loads(clients.line()))
        return SteadyLoad(
            streams,
            rate,
            len(seen.events),
            written,
            wal.largest,
            seen.delay_ms(0.5),
            seen.delay_ms(0.99),
            seen.open == streams and not seen.refused,
        )


def written_bytes(process: Process) -> int:
    """Return the bytes that a process has passed to write calls so far; sockets do not count."""
    lines = Path(f"/proc/{process.pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


class _WALWatcher:
    """Looks at the size of a file in a thread of its own."""

    def __init__(self, path: Path) -> None:
        self.largest = 0
        self._path = path
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _WALWatcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(_SAMPLE_S):
            if self._path.exists():
                self.largest = max(self.largest, self._path.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.load.steady", description=__doc__)
    parser.add_argument("streams", type=int, nargs="?", help="streams of a single load")
    parser.add_argument("rate", type=int, nargs="?", default=20, help="events/s of each stream")
    parser.add_argument("seconds", type=float, nargs="?", default=1800.0, help="how long")
    options = parser.parse_args()
    if options.streams is None:
        found = steady_loads(print, is_quick=False)
    else:
        found = [_measure(options.streams, options.rate, options.seconds)]
    for load in found:
        print(load, f"{load.bytes_per_event:.0f} bytes an event")


if __name__ == "__main__":
    main()

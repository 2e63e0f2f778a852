"""A real server under attack, with honest users beside: `python -m tests.load.attack --seconds 60`.

Server, provider, honest users and attackers are processes of their own. The server is as
`headrace serve --tokens` runs it, on a core of its own if there are two.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec

from bench.load.process import running
from tests.load.attack_agent import UPSTREAM
from tests.load.attackers import AttackJob
from tests.load.honest import HonestJob, HonestResult

STREAMS, RATE, EVENTS = 20, 10, 60
_HONEST, _HOSTILE = 4, 4
_ROOT = Path(__file__).parents[2]
_START_S = 60
# Time in which the honest users finish their last answers.
_END_S = 120


class AttackFigures(msgspec.Struct):
    """What was measured."""

    seconds: float
    honest: HonestResult
    attacks: dict[str, int]
    memory_bytes: int = 0
    """Largest resident memory of the server."""
    descriptors: int = 0
    """Most open files of the server."""
    descriptors_after: int = 0
    """Open files of the server some seconds after the attack."""
    log_bytes: int = 0
    """What the server has printed."""
    wal_bytes: int = 0
    """Largest size of the write-ahead log."""
    is_ready: bool = False
    """Whether the server was ready after the attack."""
    cpu_s: float = 0.0
    """CPU time of the server."""
    waited_s: float = 0.0
    """Time that the event loop of the server has waited for a core, which others used."""
    list_ms: float = 0.0
    """Largest time that a list of conversations took meanwhile."""

    def to_text(self) -> str:
        """Return a table."""
        honest = self.honest
        attacks = ", ".join(f"{count:,} {name}" for name, count in self.attacks.items())
        delays = f"p50 {honest.p50_ms:.1f} ms, p99 {honest.p99_ms:.1f} ms"
        rows = {
            "attack": f"{self.seconds:.0f} s: {attacks}",
            "honest answers": f"{honest.answers} of {honest.events:,} events",
            "repeated requests": str(honest.retries),
            "lost or different": str(len(honest.losses)),
            "delay of a frame": f"{delays}, at most {honest.max_ms:.0f} ms",
            "list of conversations": f"at most {self.list_ms:.0f} ms",
            "memory": f"at most {self.memory_bytes / 1e6:.0f} MB",
            "CPU time": f"{self.cpu_s / self.seconds:.0%} of a core",
            "waited for a core": f"{self.waited_s / self.seconds:.0%} of the time",
            "open files": f"at most {self.descriptors:,}, {self.descriptors_after} after it",
            "write-ahead log": f"at most {self.wal_bytes / 1e6:.1f} MB",
            "log": f"{self.log_bytes / 1e3:.1f} KB",
            "ready afterwards": "yes" if self.is_ready else "no",
        }
        return "\n".join(f"  {name:<22} {text}" for name, text in rows.items())


class _Server:
    """The server process, and the largest figures of it so far."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, data: Path, log: Path) -> None:
        self.process = process
        self.url = url
        self.data = data
        self.log = log

    def sample(self, figures: AttackFigures) -> None:
        folder = Path(f"/proc/{self.process.pid}")
        pages = int((folder / "statm").read_text().split()[1])
        memory_bytes = pages * os.sysconf("SC_PAGE_SIZE")
        figures.memory_bytes = max(figures.memory_bytes, memory_bytes)
        figures.descriptors = max(figures.descriptors, self.count_descriptors())
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        figures.cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        figures.waited_s = int((folder / "schedstat").read_text().split()[1]) / 1e9
        figures.log_bytes = self.log.stat().st_size
        wal = self.data / "headrace.db-wal"
        if wal.exists():
            figures.wal_bytes = max(figures.wal_bytes, wal.stat().st_size)

    def count_descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextmanager
def _serve(folder: Path, upstream: str) -> Iterator[_Server]:
    data, log = folder / "data", folder / "log.txt"
    command = [
        sys.executable, "-m", "headrace", "serve", "tests.load.attack_agent:agent",
        "--tokens", "--port", "0", "--data", str(data), "--asks-per-minute", "120",
    ]  # fmt: skip
    environment = {**os.environ, UPSTREAM: upstream}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, cwd=_ROOT, env=environment
        )
    # Here, because nothing of the server may run on the core of the others.
    os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    try:
        until_s = time.monotonic() + _START_S
        while not (found := re.search(r"at (http://\S+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until_s, "the server does not start"
            time.sleep(0.05)
        yield _Server(process, found[1], data, log)
    finally:
        process.terminate()
        process.wait(60)


def create_token(data: Path, user: str) -> str:
    """Create an access token with the command line, beside the running server."""
    command = [sys.executable, "-m", "headrace", "token", "create", user, "--data", str(data)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=_ROOT)
    return done.stdout.strip()


def attack(seconds: float, **options: int) -> AttackFigures:
    """Attack a server for so long. `options` are fields of `AttackJob`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running("bench.load.upstream", str(EVENTS), str(RATE), core=1) as upstream,
        _serve(Path(folder), f"http://127.0.0.1:{upstream.port()}/v1") as server,
    ):
        honest, hostile = (
            [create_token(server.data, f"{kind}{n}") for n in range(count)]
            for kind, count in (("honest", _HONEST), ("hostile", _HOSTILE))
        )
        job = HonestJob(server.url, honest, STREAMS, EVENTS, seconds)
        attack_job = AttackJob(server.url, hostile, seconds + EVENTS / RATE, **options)
        with (
            _start("tests.load.attackers", attack_job) as attackers,
            _start("tests.load.honest", job) as users,
        ):
            figures = AttackFigures(seconds, HonestResult(), {})
            _watch(server, figures, honest[0], [attackers, users], seconds + _END_S)
            figures.honest = msgspec.json.decode(users.communicate()[0], type=HonestResult)
            figures.attacks = json.loads(attackers.communicate()[0])
        _look_after(server, figures)
        return figures


@contextmanager
def _start(module: str, job: AttackJob | HonestJob) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", module, msgspec.json.encode(job).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT) as process:
        os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
        try:
            yield process
        finally:
            process.kill()


def _watch(
    server: _Server,
    figures: AttackFigures,
    token: str,
    others: list[subprocess.Popen[bytes]],
    most_s: float,
) -> None:
    """Sample the server until the other processes have ended."""
    until_s = time.monotonic() + most_s
    headers = {"authorization": f"Bearer {token}"}
    while any(process.poll() is None for process in others):
        assert time.monotonic() < until_s, "the honest users or the attackers do not end"
        assert server.process.poll() is None, server.log.read_text()[-2_000:]
        server.sample(figures)
        start_s = time.monotonic()
        # A new connection each time, as an attacked server gets them. Without certificates: they
        # would be loaded each time, in a tenth of a core.
        with httpx.Client(base_url=server.url, headers=headers, timeout=60, verify=False) as http:
            answer = http.get("/api/conversations")
        assert answer.status_code == 200, answer.text
        figures.list_ms = max(figures.list_ms, (time.monotonic() - start_s) * 1000)
        time.sleep(0.25)


def _look_after(server: _Server, figures: AttackFigures) -> None:
    """Wait until the connections of the attackers are gone, and ask whether all is well."""
    for _ in range(200):
        figures.descriptors_after = server.count_descriptors()
        if figures.descriptors_after < 100:
            break
        time.sleep(0.1)
    figures.is_ready = httpx.get(f"{server.url}/readyz", timeout=60).status_code == 200
    server.sample(figures)


def main() -> None:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    figures = attack(parser.parse_args().seconds)
    print("attack:\n" + figures.to_text())
    for loss in figures.honest.losses[:20]:
        print(loss)


if __name__ == "__main__":
    main()

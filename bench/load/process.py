"""Processes of the load test: each on its core, and what it has cost so far."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_END_S = 15
_PORT = re.compile(r"(?:^port | at http://127\.0\.0\.1:)(\d+)$")


class Process:
    """A module that runs, on one core."""

    def __init__(self, module: str, *arguments: str, core: int) -> None:
        self._module = module
        cores = sorted(os.sched_getaffinity(0))
        self._popen = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._popen.pid
        self._core = cores[core % len(cores)]
        os.sched_setaffinity(self.pid, {self._core})

    def line(self) -> str:
        """The next line it prints."""
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._module} ended with {self._popen.wait(_END_S)}")
        return line.strip()

    def port(self) -> int:
        """Where it listens, once it says so; some servers say much before."""
        while True:
            found = _PORT.search(self.line())
            if found is not None:
                return int(found[1])

    @property
    def _folders(self) -> list[Path]:
        """What the system says about the process, and about those that it has started."""
        own = Path(f"/proc/{self.pid}")
        pids = [word for task in own.glob("task/*/children") for word in task.read_text().split()]
        return [own, *(Path(f"/proc/{pid}") for pid in pids)]

    @property
    def cpu_s(self) -> float:
        """Of all its threads and workers, as the scheduler counts them: `stat` has ticks of 10 ms,
        which are a tenth of a short window."""
        tasks = [task for one in self._folders for task in one.glob("task/*/schedstat")]
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    @property
    def foreign_s(self) -> float:
        """What its core has done for others, and in the interpreter of others, so far."""
        stats = [(one / "stat").read_text().rpartition(")")[2].split() for one in self._folders]
        own = sum(int(fields[11]) for fields in stats)
        lines = Path("/proc/stat").read_text().splitlines()
        (core,) = (line.split() for line in lines if line.startswith(f"cpu{self._core} "))
        return (int(core[1]) + int(core[2]) - own) / _TICKS

    @property
    def memory_bytes(self) -> int:
        """What is resident, and its own."""
        sizes = [(one / "statm").read_text().split()[1:3] for one in self._folders]
        pages = sum(int(resident) - int(shared) for resident, shared in sizes)
        return pages * os.sysconf("SC_PAGE_SIZE")

    def tell(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def stop(self) -> None:
        self._popen.terminate()
        try:
            self._popen.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        assert self._popen.stdout is not None
        self._popen.stdout.close()


@contextmanager
def running(module: str, *arguments: str, core: int) -> Iterator[Process]:
    """The process, until the block is left."""
    process = Process(module, *arguments, core=core)
    try:
        yield process
    finally:
        process.stop()

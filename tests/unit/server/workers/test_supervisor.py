"""The supervisor with small programs in place of workers."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from headrace.server.workers.messages import WorkerConfig, WorkerReady
from headrace.server.workers.supervisor import Supervisor

# Reads its configuration, notes its start, says that it is ready, and ends with the supervisor.
_PROGRAM = """
import json, os, signal, socket, sys
channel = socket.socket(fileno=int(sys.argv[2]))
config = json.loads(channel.recv(65536))
folder = config["folder"]
with open(f"{folder}/starts", "a") as starts:
    starts.write(f"{config['number']} {config['replaced_node']}\\n")
{body}
node = f"node{os.getpid()}"
channel.sendall(json.dumps({"node": node, "lines": [], "warnings": []}).encode() + b"\\n")
{end}
"""


def _build(body: str = "", end: str = "channel.recv(1)") -> list[str]:
    program = _PROGRAM.replace("{body}", body).replace("{end}", end)
    return [sys.executable, "-S", "-I", "-c", program]


class _Run:
    """A supervisor of two workers, and what it has called."""

    def __init__(self, command: list[str], folder: Path, stop_s: float = 10.0) -> None:
        self.folder = folder
        self.ready: list[WorkerReady] = []
        self.stops = 0
        config = WorkerConfig(number=1, count=2, address="", folder=str(folder), options={})
        self.listener = socket.socket()
        self.supervisor = Supervisor(
            self.listener,
            command,
            config,
            stop_s=stop_s,
            on_ready=self._note_ready,
            on_stop=self._note_stop,
        )

    def _note_ready(self, ready: WorkerReady) -> None:
        self.ready.append(ready)
        os.kill(os.getpid(), signal.SIGTERM)

    def _note_stop(self) -> None:
        self.stops += 1

    def run(self) -> int:
        async def main() -> int:
            async with asyncio.timeout(30):
                return await self.supervisor.run()

        with self.listener:
            return asyncio.run(main())

    @property
    def starts(self) -> list[str]:
        return (self.folder / "starts").read_text().splitlines()


def test_a_signal_after_all_are_ready_ends_all(tmp_path: Path) -> None:
    run = _Run(_build(), tmp_path)
    assert run.run() == 0
    assert len(run.ready) == run.stops == 1
    assert sorted(run.starts) == ["1 None", "2 None"]


def test_a_worker_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    run = _Run(_build(ignoring), tmp_path, stop_s=0.5)
    before = time.monotonic()
    assert run.run() == 1
    assert time.monotonic() - before < 10


def test_a_worker_that_fails_while_it_stops_is_reported(tmp_path: Path) -> None:
    failing = "signal.signal(signal.SIGTERM, lambda *_: os._exit(3))"
    assert _Run(_build(failing), tmp_path).run() == 1


def test_no_connection_waits_for_workers_that_do_not_accept_any_more(tmp_path: Path) -> None:
    # Each worker closes its listener, and looks whether the port is closed when both have done so.
    body = """
import time
def stop(*_):
    listener = socket.socket(fileno=int(sys.argv[1]))
    address = listener.getsockname()
    listener.close()
    open(f"{folder}/closed{os.getpid()}", "w").close()
    while len([name for name in os.listdir(folder) if "closed" in name]) < 2: time.sleep(0.01)
    time.sleep(0.1)
    os._exit(0 if socket.socket().connect_ex(address) else 3)
signal.signal(signal.SIGTERM, stop)
"""
    run = _Run(_build(body), tmp_path)
    run.listener.bind(("127.0.0.1", 0))
    run.listener.listen()
    assert run.run() == 0


def test_if_the_first_worker_does_not_start_there_is_no_second(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        assert _Run(_build("sys.exit(1)"), tmp_path).run() == 1
    assert "worker 1 ended with status 1" in caplog.text
    assert (tmp_path / "starts").read_text() == "1 None\n"


def test_workers_that_end_again_and_again_end_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # The first start succeeds, and no other one.
    once = "if len(open(f'{folder}/starts').readlines()) > 1: sys.exit(7)"
    run = _Run(_build(once, end=""), tmp_path)
    with caplog.at_level(logging.WARNING, "headrace"):
        assert run.run() == 1
    assert "the workers do not stay alive: the server ends" in caplog.text
    assert 5 <= len(run.starts) <= 10
    assert not run.ready


def test_a_replacement_is_told_whom_it_replaces(tmp_path: Path) -> None:
    # The first worker ends soon after it is ready, and the second waits for its replacement.
    body = """
import time
starts = lambda: open(f"{folder}/starts").readlines()
while config["number"] == 2 and len(starts()) < 3: time.sleep(0.01)
"""
    end = "channel.recv(1) if len(starts()) >= 3 else time.sleep(0.3)"
    run = _Run(_build(body, end), tmp_path)
    assert run.run() == 0
    (last,) = (start for start in run.starts if "node" in start)
    assert last.startswith("1 node")

"""A server that is killed: nothing acknowledged is lost, doubled or reordered, every message is
committed once, and those who come back are told how it ended."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.server.serving import frames

KILLS = int(os.environ.get("HEADRACE_SOAK_KILLS", "30"))
_START_S = 15.0


def _command(data: Path) -> list[str]:
    options = ["--port", "0", "--drain", "1", "--data", str(data)]
    return [sys.executable, "-m", "headrace", "serve", *options]


class Process:
    """A server in a process of its own, on a data folder that outlives it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Returns how long it took until it answered."""
        before = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "headrace",
            "serve",
            "--port",
            "0",
            "--data",
            str(self.data),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert " at http" in line, line
        self.url = line.rpartition(" at ")[2].strip()
        return time.monotonic() - before

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(_START_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    server = Process(tmp_path)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _ask(url: str, seconds: float) -> tuple[str, bytes]:
    """The event's id, and what came until the time was up or the connection broke."""
    data = b""
    event_id = ""
    until = time.monotonic() + seconds
    try:
        with httpx.stream(
            "POST", f"{url}/api/chat?protocol=thinking", json={"message": "Say hello."}, timeout=5
        ) as answer:
            event_id = answer.headers["x-event-id"]
            for chunk in answer.iter_bytes():
                data += chunk
                if time.monotonic() > until:
                    break
    except httpx.HTTPError:
        pass
    return event_id, data


@pytest.mark.timeout(300)
def test_killed_at_random_nothing_acknowledged_is_lost(process: Process) -> None:
    chance = random.Random(9)
    seen: dict[str, bytes] = {}
    for _ in range(KILLS):
        # The rehearsal model takes about a second: half of the kills meet its end.
        event_id, data = _ask(process.url, chance.choice([0.05, 0.3, 0.8, 1.1, 1.4]))
        process.kill()
        process.start()
        if event_id:
            seen[event_id] = data
    for event_id, data in seen.items():
        whole = httpx.get(f"{process.url}/api/chat/{event_id}/stream?protocol=thinking").content
        got = data[: data.rfind(b"\n\n") + 2]
        assert whole.startswith(got), "what was sent is not what is logged"
        payloads = [payload for _, payload in frames(whole)]
        ends = [p for p in payloads if '"type":"done"' in p or '"type":"error"' in p]
        assert len(ends) == 1
        assert payloads[-1] == "[DONE]"
    _check_tables(process.data, len(seen))


def _check_tables(data: Path, runs: int) -> None:
    with closing(sqlite3.connect(data / "headrace.db")) as connection:
        (live,) = connection.execute("SELECT count(*) FROM runs WHERE state = 'live'").fetchone()
        assert live == 0
        rows = connection.execute(
            "SELECT run_id, count(*) FROM messages GROUP BY run_id"
        ).fetchall()
        assert all(count == 1 for run_id, count in rows if run_id is not None)
        assert sum(run_id is not None for run_id, _ in rows) >= runs
        gaps = connection.execute(
            "SELECT run_id FROM records GROUP BY run_id HAVING count(*) != max(seq)"
        ).fetchall()
        assert gaps == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.timeout(60)
def test_the_interruption_is_announced_at_once_after_the_restart(process: Process) -> None:
    event_id, _ = _ask(process.url, 0.2)
    process.kill()
    assert process.start() < _START_S
    before = time.monotonic()
    whole = httpx.get(f"{process.url}/api/chat/{event_id}/stream?protocol=thinking").content
    assert time.monotonic() - before < 5
    assert '"category":"interrupted"' in frames(whole)[-2][1]


@pytest.mark.timeout(60)
def test_a_server_that_is_told_to_stop_ends_its_runs_and_says_so(process: Process) -> None:
    data = b""
    with httpx.stream(
        "POST",
        f"{process.url}/api/chat?protocol=thinking",
        json={"message": "long, please"},
        timeout=30,
    ) as answer:
        for chunk in answer.iter_bytes():
            if not data:
                assert process._process is not None
                process._process.send_signal(signal.SIGTERM)
            data += chunk
    assert frames(data)[-1][1] == "[DONE]"
    process.kill()
    process.start()


def test_a_second_server_on_the_same_folder_names_the_first(process: Process) -> None:
    command = [
        sys.executable,
        "-m",
        "headrace",
        "serve",
        "--port",
        "0",
        "--data",
        str(process.data),
    ]
    second = subprocess.run(command, capture_output=True, text=True, timeout=_START_S, check=False)
    assert second.returncode == 1
    assert f"at {process.url}" in second.stderr

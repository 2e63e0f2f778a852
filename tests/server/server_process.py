"""`headrace serve` as a process of its own, looked at from the outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.forking.forked_process import ForkedProcess


class ServerProcess:
    """A server that was started."""

    def __init__(self, process: subprocess.Popen[str] | ForkedProcess, url: str) -> None:
        self.process = process
        self.url = url
        # Without certificates, which take long to load and are not used.
        self.http = httpx.Client(base_url=url, timeout=60, trust_env=False, verify=False)

    def ask(self, message: str, **body: Any) -> httpx.Response:
        """Ask, and read the whole stream."""
        return self.http.post("/api/chat", json={"message": message, **body})

    def get(self, path: str) -> Any:
        response = self.http.get(path)
        return {**response.json(), "status": response.status_code}

    def wait_for(self, path: str, status: int) -> Any:
        """Until an address answers with this status."""
        found: Any = None
        for _ in range(400):
            found = self.get(path)
            if found["status"] == status:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{path} never answers with {status}: {found}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)


def command(data: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "headrace", "serve", "--port", "0", "--drain", "1",
            "--data", str(data), *options]  # fmt: skip


@contextmanager
def serve(
    data: Path, *options: str, before: Sequence[str] = (), folder: Path | None = None
) -> Generator[ServerProcess]:
    """A server on a folder; `before` are the words in front of its command, and `folder` is where
    it is started."""
    process = subprocess.Popen(
        [*before, *command(data, *options)], cwd=folder,
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    yield from _watch(process)


@contextmanager
def fork_server(data: Path, *options: str) -> Generator[ServerProcess]:
    """A server on a folder that starts without the time for imports, for tests that start many."""
    yield from _watch(ForkedProcess(command(data, *options)[3:], dict(os.environ)))


def _watch(process: subprocess.Popen[str] | ForkedProcess) -> Generator[ServerProcess]:
    """Wait for the address of a server, and stop it in the end."""
    assert process.stdout is not None
    line = process.stdout.readline()
    server = ServerProcess(process, line.strip().rpartition(" ")[2])
    try:
        assert server.url.startswith("http"), line
        yield server
    finally:
        server.stop()
        process.stdout.close()


def refuse(data: Path, *options: str) -> str:
    """What a server that does not start says."""
    done = subprocess.run(
        command(data, *options), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0, done.stdout
    return done.stderr

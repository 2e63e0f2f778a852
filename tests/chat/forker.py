"""The other end of `tests.chat.zygote`: forks chats, each on a terminal of its own."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import termios
from typing import Any, NoReturn

from headrace.cli.commands.chat import command
from headrace.cli.commands.chat.display import plain, terminal
from headrace.cli.main import main
from headrace.client import http, in_process
from headrace.server import app
from tests.chat import stage

IMPORTED = (app, in_process, command, http, plain, stage, terminal)
"""What every chat would import by itself."""


def serve() -> None:
    """Until there are no more orders."""
    for line in sys.stdin:
        order = json.loads(line)
        answer = _polled(order["poll"]) if "poll" in order else _forked(order)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _polled(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _forked(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _play(order)
    return pid


def _play(order: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        _take_terminal(order["tty"])
        os.environ.clear()
        os.environ.update(order["env"])
        os.chdir(order["cwd"])
        code = main(["chat", *order["argv"]])
        sys.stdout.flush()
    finally:
        os._exit(code)


def _take_terminal(name: str) -> None:
    os.setsid()
    tty = os.open(name, os.O_RDWR)
    fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(tty, number)
    os.close(tty)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


if __name__ == "__main__":
    serve()

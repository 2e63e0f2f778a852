"""Chats to be had quickly: one process imports everything once, and forks a chat for each that is
asked for, on a terminal of its own. What runs is the command itself; only its imports are spared.

Orders and answers are lines of JSON."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
_WAIT_S = 30.0


class Forked:
    """A process of the zygote, as `subprocess.Popen` has it."""

    def __init__(self, tty: str, argv: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        self._code: int | None = None
        order = {"tty": tty, "argv": list(argv), "cwd": str(cwd), "env": env}
        self.pid: int = _ordered(order)

    def poll(self) -> int | None:
        if self._code is None:
            self._code = _ordered({"poll": self.pid})
        return self._code

    def wait(self, timeout: float = _WAIT_S) -> int:
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            assert time.monotonic() < until, "it does not end"
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        os.kill(self.pid, 9)


@cache
def _zygote() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.chat.zygote"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, cwd=ROOT, **pipes)
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait()
    process.stdout.close()


def _ordered(order: dict[str, Any]) -> Any:
    process = _zygote()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


# --- the other end ------------------------------------------------------------------


def _main() -> None:
    import headrace.cli.chat.app_line
    import headrace.cli.chat.plain_face
    import headrace.cli.chat.terminal_face
    import headrace.server.app
    import headrace.transport.http_line
    import tests.chat.stage  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        answer = _polled(order["poll"]) if "poll" in order else _forked(order)
        print(json.dumps(answer), flush=True)


def _polled(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _forked(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _play(order)
    return pid


def _play(order: dict[str, Any]) -> NoReturn:
    from headrace.cli.main import main

    code = 1
    try:
        os.setsid()
        tty = os.open(order["tty"], os.O_RDWR)
        fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(tty, number)
        os.close(tty)
        sys.stdin = open(0, closefd=False)
        sys.stdout = open(1, "w", buffering=1, closefd=False)
        sys.stderr = open(2, "w", buffering=1, closefd=False)
        os.environ.clear()
        os.environ.update(order["env"])
        os.chdir(order["cwd"])
        code = main(["chat", *order["argv"]])
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    _main()

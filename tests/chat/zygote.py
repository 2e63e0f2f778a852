"""Chats to be had quickly: one process imports everything once, and forks a chat for each that is
asked for. What runs is the command itself; only its imports are spared. The other end is
`tests.chat.forker`; orders and answers are lines of JSON."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_WAIT_S = 60.0


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
    command = [sys.executable, "-m", "tests.chat.forker"]
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

"""Servers to be killed. One process imports everything once and forks a server for each line
that it reads, so that a test can afford hundreds of them; each is a process of its own, with a
socket, a file and a `kill -9` of its own. A server kills itself at a step that the test names."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.cli.main import main
from headrace.events import RunFailed, RunFinished
from headrace.rehearsal.script import say, think, turn
from headrace.server import create_app
from headrace.server.listener import open_listener
from headrace.server.process import serve
from headrace.server.storage.log import SQLiteLog
from headrace.server.storage.sqlite.record_writer import BatchTail
from headrace.server.storage.store import SQLiteStore
from tests.server.serving import scripted

_WAIT_S = 60.0
_ROOT = Path(__file__).parents[2]


class Victim:
    """A server that was forked; `url` is empty where it died before it was ready."""

    def __init__(self, pid: int, url: str) -> None:
        self.pid = pid
        self.url = url

    def kill(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.wait()

    def stop(self) -> None:
        """Tell it to, and do not wait."""
        os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> None:
        """Until it is gone."""
        until = time.monotonic() + _WAIT_S
        while time.monotonic() < until:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.002)
        raise AssertionError("it lives")


class Nursery:
    """The test's end of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._victims: list[Victim] = []

    def serve(self, data: Path, step: str = "", **settings: Any) -> Victim:
        """A server on that folder, when it takes requests or is dead. `settings` are those of the
        application."""
        return self._start({"data": str(data), "step": step, "settings": settings})

    def create_token(self, data: Path, user: str, output: Path, step: str = "") -> Victim:
        """`headrace token create`, which prints to a file."""
        command = ["token", "create", user, "--data", str(data)]
        return self._start({"step": step, "command": command, "output": str(output)})

    def _start(self, asked: dict[str, Any]) -> Victim:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        victim = Victim(**json.loads(self._process.stdout.readline()))
        self._victims.append(victim)
        return victim

    def kill_all(self) -> None:
        for victim in self._victims:
            victim.kill()
        self._victims.clear()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """One of them, until the block is left."""
    command = [sys.executable, "-m", "tests.server.nursery"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=_ROOT, **pipes) as process:
        found = Nursery(process)
        try:
            yield found
        finally:
            found.kill_all()
            assert process.stdin is not None
            process.stdin.close()


# --- the other end ------------------------------------------------------------------


class Step:
    """Where a server kills itself: `name`, or `name:n` for the n-th time; `milliseconds:n` is a
    moment, whatever is done then."""

    def __init__(self, text: str) -> None:
        self._name, _, number = text.partition(":")
        self._left = int(number or 1)
        self._is_begun = False
        if self._name == "milliseconds":
            timer = threading.Timer(self._left / 1000, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()

    def reach(self, name: str) -> None:
        if name == self._name:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, _: str) -> None:
        """A statement is about to be run in the database."""
        self.reach("end_statement" if self._is_begun else "statement")

    def begin_end(self) -> None:
        """From here on, statements are those of the end of a run."""
        self._is_begun = True


def _aim(step: Step) -> None:
    """Put the steps of the design's section 5 between the methods of log and store."""
    append, put = SQLiteLog.append, BatchTail.put
    connect = sqlite3.connect

    def name_of(records: Any) -> str:
        is_last = any(isinstance(one.event, RunFinished | RunFailed) for one in records)
        if is_last:
            step.begin_end()
        return "end" if is_last else "append"

    async def appended(self: Any, run_id: str, records: Any, epoch: int = 0) -> None:
        name = name_of(records)
        step.reach(f"before_{name}")
        await append(self, run_id, records, epoch)
        step.reach(f"after_{name}")

    def put_down(self: Any, records: Any, done: Callable[[Exception | None], None]) -> None:
        name = name_of(records)

        def told(failure: Exception | None) -> None:
            step.reach(f"after_{name}")
            done(failure)

        step.reach(f"before_{name}")
        put(self, records, told)

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(step.statement)
        return connection

    SQLiteLog.append = appended  # type: ignore[method-assign]
    BatchTail.put = put_down  # type: ignore[method-assign]
    for name in ("begin", "commit"):
        setattr(SQLiteStore, name, _around(getattr(SQLiteStore, name), name, step))
    sqlite3.connect = connected  # type: ignore[assignment]


def _around(
    method: Callable[..., Awaitable[Any]], name: str, step: Step
) -> Callable[..., Awaitable[Any]]:
    async def called(*args: Any) -> Any:
        step.reach(f"before_{name}")
        result = await method(*args)
        step.reach(f"after_{name}")
        return result

    return called


def _serve(data: Path, settings: dict[str, Any], ready: Callable[[str], None]) -> None:
    listener = open_listener("127.0.0.1", 0)
    words = " ".join(f"word-{n}" for n in range(20))
    agent = scripted(turn(think("Let me see."), say(words), pace_s=0.004))
    app = create_app(agent, data=data, **{"drain_s": 0.02, **settings})
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    asyncio.run(serve(app, listener, ready=lambda: ready(url)))


def _fork(asked: dict[str, Any]) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        with os.fdopen(reader) as told:
            return {"pid": pid, "url": told.readline().strip()}
    os.close(reader)

    def ready(url: str) -> None:
        os.write(writer, url.encode())
        os.close(writer)

    _aim(Step(asked["step"]))
    if "command" in asked:
        _run_command(asked["command"], asked["output"])
    else:
        _serve(Path(asked["data"]), asked["settings"], ready)
    os._exit(0)


def _run_command(command: list[str], output: str) -> None:
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT, 0o600), 1)
    main(command)
    sys.stdout.flush()


def _main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_fork(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()

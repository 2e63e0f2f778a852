"""`headrace serve` as a process: it says where it is, drains when it is told to stop, holds its
folder alone, and announces an interruption at once."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.server.listener import open_listener
from tests.server.serving import frames

_WAIT_S = 60.0


def command(data: Path) -> list[str]:
    options = ["--port", "0", "--drain", "0.5", "--data", str(data)]
    return [sys.executable, "-m", "headrace", "serve", *options]


class Process:
    """A server in a process of its own, on a data folder that outlives it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.url = ""
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(command(self.data), stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert " at http" in line, line
        self.url = line.rpartition(" at ")[2].strip()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.wait(_WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def wait(self) -> int:
        return self._process.wait(_WAIT_S)

    def read_rest(self) -> list[str]:
        """Read the lines up to the end of the output, after the first."""
        assert self._process.stdout is not None
        return self._process.stdout.read().splitlines()

    def close_output(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    server = Process(tmp_path)
    try:
        yield server
    finally:
        server.kill()


def asked(url: str) -> Any:
    body = {"message": "long, please"}
    return httpx.stream("POST", f"{url}/api/chat?protocol=thinking", json=body, timeout=60)


def test_a_server_that_is_told_to_stop_ends_its_runs_and_says_so(process: Process) -> None:
    data = b""
    with asked(process.url) as answer:
        for chunk in answer.iter_bytes():
            if not data:
                process.signal(signal.SIGTERM)
            data += chunk
    assert '"category":"interrupted"' in frames(data)[-2][1]
    assert frames(data)[-1][1] == "[DONE]"
    assert process.wait() == 0
    assert process.read_rest()[1:] == ["Stopping: waiting at most 0.5 s for 1 running answer"]


def test_a_server_without_runs_says_that_it_waits_for_nothing(process: Process) -> None:
    process.signal(signal.SIGTERM)
    assert process.wait() == 0
    assert process.read_rest()[1:] == ["Stopping: no answer is running"]


def test_a_server_whose_output_nobody_reads_drains_all_the_same(process: Process) -> None:
    process.close_output()
    data = b""
    with asked(process.url) as answer:
        for chunk in answer.iter_bytes():
            if not data:
                process.signal(signal.SIGTERM)
            data += chunk
    assert frames(data)[-1][1] == "[DONE]"
    assert process.wait() == 0


def test_an_interruption_is_announced_at_once_after_the_restart(
    process: Process, record_property: Any
) -> None:
    with asked(process.url) as answer:
        event_id = answer.headers["x-event-id"]
    process.kill()
    before = time.monotonic()
    process.start()
    whole = httpx.get(
        f"{process.url}/api/chat/{event_id}/stream?protocol=thinking", timeout=60
    ).content
    took = time.monotonic() - before
    assert '"category":"interrupted"' in frames(whole)[-2][1]
    # 2 s is the promise; a machine that runs other tests beside this is given more.
    assert took < _WAIT_S
    record_property("summary", f"kill: `headrace serve` announces it {took:.2f} s after its start")


def test_a_second_server_on_the_same_folder_names_the_first(process: Process) -> None:
    second = subprocess.run(
        command(process.data), capture_output=True, text=True, timeout=_WAIT_S, check=False
    )
    assert second.returncode == 1
    assert f"at {process.url}" in second.stderr


def test_frames_do_not_wait_for_more(tmp_path: Path) -> None:
    """Nagle's delay is off: a small frame is sent at once, not 40 ms later."""

    async def main() -> None:
        accepted = asyncio.get_running_loop().create_future()
        listener = open_listener("127.0.0.1", 0)
        server = await asyncio.start_server(
            lambda _, writer: accepted.set_result(writer), sock=listener
        )
        _, writer = await asyncio.open_connection(*listener.getsockname())
        taken = (await accepted).get_extra_info("socket")
        assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        (await accepted).close()
        server.close()

    asyncio.run(main())

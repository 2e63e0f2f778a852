"""A server that was stopped for a while (SIGSTOP) reads what came meanwhile, and gives its clients
the time that they had no use of."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.server.http.event_stream import EventStream
from tests.server.server_process import serve
from tests.server.serving import frames

_AGENT = """
from headrace.engine import Agent
from headrace.transport.http import HTTPTransport
from headrace.transport.limits import Timeouts
from headrace.transport.retry import NEVER

timeouts = Timeouts(first_event_s=FIRST, idle_s=IDLE)
transport = HTTPTransport(timeouts=timeouts)
agent = Agent("vllm:test", base_url="URL", transport=transport, policy=NEVER)
"""
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_TIMEOUT_S = 2.0
# Much longer than the timeout, also than what it is late by itself on a busy machine.
_STOPPED_S = 6.0


def text(words: str) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"content": words}}]}
    return b"data: %s\n\n" % json.dumps(chunk).encode()


class Upstream:
    """A provider whose answer pauses at `gate` until it is told to go on."""

    def __init__(self, before: bytes, after: bytes) -> None:
        self.has_paused = threading.Event()
        self.may_go_on = threading.Event()
        self.has_sent = threading.Event()
        self._parts = before, after
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with self._listener:
            peer, _ = self._listener.accept()
        with peer:
            data = b""
            while b"\r\n\r\n" not in data:
                data += peer.recv(65_536)
            before, after = self._parts
            if before:
                peer.sendall(_HEAD + before)
            self.has_paused.set()
            self.may_go_on.wait(60)
            peer.sendall(after if before else _HEAD + after)
            self.has_sent.set()
            # The connection stays open until the client has the end of the answer.
            while peer.recv(65_536):
                pass


@contextmanager
def stopped(pid: int) -> Generator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("paused_before", ["the first event", "the rest"])
def test_bytes_that_came_while_the_process_was_stopped_are_read(
    paused_before: str, tmp_path: Path
) -> None:
    is_first = paused_before == "the first event"
    rest = text("two.") + b"data: [DONE]\n\n"
    upstream = Upstream(
        b"" if is_first else text("One, "), text("One, ") + rest if is_first else rest
    )
    module = _AGENT.replace("URL", upstream.url)
    module = module.replace("FIRST", str(_TIMEOUT_S if is_first else 60))
    module = module.replace("IDLE", "60" if is_first else str(_TIMEOUT_S))
    (tmp_path / "stopping.py").write_text(module)
    with serve(tmp_path / "data", "stopping:agent", folder=tmp_path) as server:
        answers: list[bytes] = []
        asking = threading.Thread(target=lambda: answers.append(server.ask("Count.").content))
        asking.start()
        assert upstream.has_paused.wait(60)
        # The server has the request, but may not wait for the answer yet.
        time.sleep(0.3)
        with stopped(server.process.pid):
            upstream.may_go_on.set()
            assert upstream.has_sent.wait(60)
            time.sleep(_STOPPED_S)
        asking.join(60)
        last = json.loads(frames(answers[0])[-1][1])
        assert last["type"] == "message_final", last
        assert "One, two." in json.dumps(last)


class _StoppedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can skip a time, as if the process had been stopped."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


@pytest.mark.parametrize("does_read", [True, False])
def test_a_client_has_its_time_to_read_after_the_process_was_stopped(does_read: bool) -> None:
    loop = _StoppedLoop()
    sent: list[bytes] = []
    timeout_s = 30.0

    async def main() -> None:
        is_full, has_read = asyncio.Event(), asyncio.Event()

        async def two() -> AsyncGenerator[list[bytes], None]:
            yield [b"first"]
            yield [b"second"]

        async def send(message: Any) -> None:
            if message.get("body") == b"second":
                is_full.set()
                await has_read.wait()
            sent.append(message.get("body", b""))

        async def receive() -> Any:
            await asyncio.sleep(3_600)

        stream = EventStream(two(), heartbeat_s=15, send_timeout_s=timeout_s)
        sending = asyncio.ensure_future(stream({}, receive, send))
        await is_full.wait()
        # The next timer that the stream sets is the one of the client that does not read.
        for skipped_s in (timeout_s / 2, 10 * timeout_s):
            loop.skipped_s += skipped_s
            await asyncio.sleep(0.01)
        assert not sending.done()
        if does_read:
            has_read.set()
        else:
            loop.skipped_s += timeout_s
        await sending

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    assert sent[:2] == [b"", b"first"]
    assert (b"second" in sent) == does_read

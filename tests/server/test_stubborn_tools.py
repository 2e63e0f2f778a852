"""Tools that ignore cancellation hold up neither the end of their run nor that of the process."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.server_process import ServerProcess, serve
from tests.server.serving import frames

# A process that never ends takes an hour; the tools themselves take ten minutes.
_AGENT = '''
import asyncio, threading, time
from headrace.engine import Agent, Middleware
from headrace.rehearsal.script import call, say, turn
from headrace.testing import ScriptedTransport
from headrace.tools import ToolContext

def thread(context: ToolContext) -> str:
    """Sleep in a thread."""
    for second in range(600):
        time.sleep(1)
        context.progress(f"second {second}")
    return "late"

async def coroutine(context: ToolContext) -> str:
    """Ignore every cancellation."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        try:
            await asyncio.sleep(0.05)
            context.progress("still here")
        except asyncio.CancelledError:
            pass
    return "late"

async def foreign(context: ToolContext) -> str:
    """Start a thread that is not a daemon."""
    threading.Thread(target=time.sleep, args=(600,)).start()
    await asyncio.sleep(600)

async def executor(context: ToolContext) -> str:
    """Wait for a thread of the event loop's own pool."""
    return await asyncio.to_thread(time.sleep, 600)

async def quick(context: ToolContext) -> str:
    """Use a thread of the same pool."""
    return await asyncio.to_thread(str, "Quick.")

async def blocking(context: ToolContext) -> str:
    """Block the event loop."""
    await asyncio.sleep(0.5)
    time.sleep(600)

def play(heard):
    return turn(say("Wait."), call(heard.user)) if not heard.since_user else turn(say("Done."))

tools = [thread, coroutine, foreign, executor, quick, blocking]
agent = Agent("vllm:test", transport=ScriptedTransport(play), tools=tools)

class Stuck(Middleware):
    async def on_run_end(self, run, event):
        await asyncio.sleep(600)

stuck = Agent("vllm:test", transport=ScriptedTransport(play), tools=tools, middleware=[Stuck()])
'''
STUBBORN = ["thread", "coroutine", "foreign", "executor"]
# Far below the time that the tools take, and far above what a busy machine needs.
_LIMIT_S = 60


class Watcher:
    """Reads a stream in a thread until it ends."""

    def __init__(self, server: ServerProcess, message: str) -> None:
        self.event_id = ""
        self.conversation_id = ""
        self.data = b""
        self.has_called = threading.Event()
        self._server = server
        self._thread = threading.Thread(target=self._read, args=(message,), daemon=True)
        self._thread.start()
        assert self.has_called.wait(_LIMIT_S)

    def _read(self, message: str) -> None:
        url, body = f"{self._server.url}/api/chat", {"message": message}
        with (
            httpx.Client(timeout=600, trust_env=False, verify=False) as http,
            http.stream("POST", url, json=body) as answer,
        ):
            self.event_id = answer.headers["x-event-id"]
            self.conversation_id = answer.headers["x-conversation-id"]
            try:
                for chunk in answer.iter_bytes():
                    self.data += chunk
                    if b"tool_call_update" in self.data:
                        self.has_called.set()
            except httpx.TransportError:
                pass

    def wait(self) -> list[Any]:
        """Return the payloads of the whole stream."""
        self._thread.join(_LIMIT_S)
        assert not self._thread.is_alive(), "the stream does not end"
        return [json.loads(payload) for _, payload in frames(self.data)]


@contextmanager
def stubborn_server(
    folder: Path, drain: str = "1", agent: str = "agent"
) -> Generator[ServerProcess]:
    (folder / "stubborn.py").write_text(_AGENT)
    data = folder / "data"
    with serve(data, f"stubborn:{agent}", "--drain", drain, folder=folder) as server:
        try:
            yield server
        finally:
            if server.process.poll() is None:
                server.kill()


def stop(server: ServerProcess, number: int = signal.SIGTERM) -> int:
    server.process.send_signal(number)
    return server.process.wait(_LIMIT_S)


@pytest.mark.parametrize("name", STUBBORN)
def test_a_cancelled_run_ends_although_its_tool_goes_on(name: str, tmp_path: Path) -> None:
    with stubborn_server(tmp_path) as server:
        watcher = Watcher(server, name)
        began = time.monotonic()
        answer = server.http.post(f"/api/chat/{watcher.event_id}/cancel")
        assert answer.json()["was_live"]
        payloads = watcher.wait()
        assert time.monotonic() - began < _LIMIT_S
        assert payloads[-1]["type"] == "message_cancelled"
        # What the tool that was left behind reports is not recorded any more.
        time.sleep(1.5)
        whole = server.http.get(f"/api/chat/{watcher.event_id}/stream").content
        assert [json.loads(payload) for _, payload in frames(whole)] == payloads
        assert server.http.delete(f"/api/conversations/{watcher.conversation_id}").is_success
        assert stop(server) == 0


@pytest.mark.parametrize("name", STUBBORN)
def test_a_conversation_can_be_deleted_while_its_tool_goes_on(name: str, tmp_path: Path) -> None:
    with stubborn_server(tmp_path) as server:
        watcher = Watcher(server, name)
        answer = server.http.delete(f"/api/conversations/{watcher.conversation_id}")
        assert answer.status_code == 204, answer.text
        assert watcher.wait()[-1]["type"] == "message_cancelled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_server_that_stops_gives_every_watcher_a_last_frame(number: int, tmp_path: Path) -> None:
    with stubborn_server(tmp_path, "0.2") as server:
        watchers = [Watcher(server, name) for name in STUBBORN for _ in range(2)]
        assert stop(server, number) == 0
        for watcher in watchers:
            last = watcher.wait()[-1]
            assert last["type"] == "message_error"
            assert "stopping" in json.dumps(last)


def test_a_run_that_does_not_end_gets_a_last_frame_too(tmp_path: Path) -> None:
    with stubborn_server(tmp_path, "0.2", "stuck") as server:
        watcher = Watcher(server, "coroutine")
        assert stop(server) == 0
        payloads = watcher.wait()
        assert payloads[-1]["type"] == "message_error"
    with stubborn_server(tmp_path) as server:
        whole = server.http.get(f"/api/chat/{watcher.event_id}/stream").content
        assert [json.loads(payload) for _, payload in frames(whole)] == payloads


def test_tools_that_keep_the_threads_of_the_event_loop_stop_no_other_run(tmp_path: Path) -> None:
    with stubborn_server(tmp_path) as server:
        # asyncio's own limit is 32 threads, or fewer on a small machine.
        for _ in range(33):
            watcher = Watcher(server, "executor")
            server.http.post(f"/api/chat/{watcher.event_id}/cancel")
        last = json.loads(frames(server.ask("quick").content)[-1][1])
        assert "Quick." in json.dumps(last["event"]["segments"])


def test_a_server_ends_even_if_a_tool_blocks_its_event_loop(tmp_path: Path) -> None:
    with stubborn_server(tmp_path) as server:
        watcher = Watcher(server, "blocking")
        for _ in range(100):
            try:
                httpx.get(f"{server.url}/healthz", timeout=1, trust_env=False, verify=False)
            except httpx.TimeoutException:
                break
            time.sleep(0.05)
        assert stop(server) == 1
    # Nothing is lost: the next server closes the run.
    with stubborn_server(tmp_path) as server:
        whole = server.http.get(f"/api/chat/{watcher.event_id}/stream").content
        assert b"interrupted" in whole
        assert os.listdir(tmp_path / "data")

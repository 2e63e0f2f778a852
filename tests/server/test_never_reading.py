"""Watchers that never read, from the outside: what each of them takes, and for how long (T19)."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.memory import resident_kb
from tests.server.server_process import ServerProcess, serve

WATCHERS = 80
AGENT = """
from headrace.engine import Agent
from headrace.rehearsal.script import say, turn, wait
from headrace.rehearsal.transport import ScriptedTransport

WORDS = " ".join(["w" * 2_000] * 2_000)
LIVE = turn(say(WORDS), wait(600), pace_s=0.001)
transport = ScriptedTransport(lambda heard: LIVE, dialect="chat")
agent = Agent("openai-chat:test", transport=transport, api_key="k")
"""


def _open(server: ServerProcess, head: str, body: str = "") -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    peer.connect((host, int(port)))
    peer.sendall(
        f"{head} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    return peer


def _metric(server: ServerProcess, name: str) -> int:
    lines = server.http.get("/metrics").text.splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"headrace_{name} "))


def _queued_bytes(server: ServerProcess) -> int:
    """Return the most that the kernel holds for a connection of this server."""
    port = int(server.url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    own = [row for row in rows if row[1].endswith(f":{port:04X}")]
    # Its fifth field: bytes to be sent and bytes to be read, in hexadecimal digits.
    return max(int(row[4].partition(":")[0], 16) for row in own)


@pytest.mark.parametrize("options", [(), ("--send-timeout", "3")])
def test_t19_watchers_that_never_read_take_little_and_are_disconnected(
    options: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "never_read_agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    with serve(tmp_path / "data", "never_read_agent:agent", *options) as server:
        asked = _open(server, "POST /api/chat", '{"message": "Go."}')
        event_id = asked.recv(4_096).lower().partition(b"x-event-id: ")[2].split(b"\r\n")[0]
        before_kb = resident_kb(server.process.pid)
        path = f"/api/chat/{event_id.decode()}/stream"
        peers = [_open(server, f"GET {path}") for _ in range(WATCHERS)]
        if options:
            for _ in range(1_200):
                if _metric(server, "watchers") == 0:
                    break
                time.sleep(0.05)
            assert _metric(server, "watchers") == 0
        else:
            most_kb, most_queued = 0, 0
            for _ in range(40):
                most_kb = max(most_kb, resident_kb(server.process.pid))
                most_queued = max(most_queued, _queued_bytes(server))
                time.sleep(0.1)
            assert 0 < most_queued < 256 * 1_024
            # The run itself takes some memory as well: its text, and the records to be logged.
            assert most_kb - before_kb < 256 * WATCHERS + 40_000
        for peer in (asked, *peers):
            peer.close()

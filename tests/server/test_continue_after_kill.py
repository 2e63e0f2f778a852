"""Servers that are killed while runs with tools, approvals and sub-agents go on, and that continue
them: nothing is lost, shown twice or done twice."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace import events as ev
from headrace.events import Record
from tests.engine.resume.scenes import check_nesting, check_one_level
from tests.server.server_process import ServerProcess, fork_server
from tests.server.serving import frames
from tests.server.stored_records import stored_records

KILLS = int(os.environ.get("HEADRACE_SOAK_KILLS", "20"))
_AGENT = "tests.server.resumable_agent:agent"
_TERMINALS = (ev.RunFinished, ev.RunFailed)


class Reader(threading.Thread):
    """Reads the stream of an answer until it ends or breaks, and remembers the frames."""

    def __init__(self, url: str, event_id: str, after: str) -> None:
        super().__init__(daemon=True)
        self._url = f"{url}/api/chat/{event_id}/stream?protocol=ux"
        self._after = after
        self.data = b""
        self.start()

    def run(self) -> None:
        headers = {"last-event-id": self._after}
        try:
            with httpx.stream(
                "GET", self._url, headers=headers, timeout=60, verify=False
            ) as response:
                for piece in response.iter_raw():
                    self.data += piece
        except httpx.HTTPError:
            pass


def _whole_frames(data: bytes) -> list[tuple[str, str]]:
    return frames(data[: data.rfind(b"\n\n") + 2])


def _answer_requests(server: ServerProcess, run_id: str) -> None:
    for request in server.get(f"/api/runs/{run_id}/requests")["requests"]:
        path = f"/api/runs/{run_id}/requests/{request['request_id']}"
        assert server.http.post(path, json={"decision": "accepted"}).status_code == 200


def _run_id_of(server: ServerProcess, event_id: str) -> str:
    with server.http.stream("GET", f"/api/chat/{event_id}/stream?protocol=ux") as response:
        data = b""
        for piece in response.iter_raw():
            data += piece
            if b'"run_id":"' in data:
                return data.split(b'"run_id":"')[1].split(b'"')[0].decode()
    raise AssertionError("no frame names the run")


def _check_log(records: list[Record]) -> None:
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    body = [record for record in records if not isinstance(record.event, ev.RunClosed)]
    for path in {record.path for record in body}:
        check_one_level([record for record in body if record.path == path], is_over=True)
    check_nesting(body)


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_run_goes_on_until_it_ends(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(journal))
    chance = random.Random(seed)
    options = (_AGENT, "--on-interrupt", "continue")
    seen: list[tuple[str, str]] = []
    with fork_server(tmp_path / "data", *options) as server:
        response = server.http.send(
            server.http.build_request("POST", "/api/chat", json={"message": "Go."}), stream=True
        )
        event_id = response.headers["x-event-id"]
        run_id = _run_id_of(server, event_id)
        reader = Reader(server.url, event_id, "0")
        if chance.random() < 0.5:
            _wait_and_answer(server, run_id, chance.random() * 1.5)
        else:
            time.sleep(chance.random() * 1.2)
        server.kill()
        reader.join(30)
        seen += _whole_frames(reader.data)
    with fork_server(tmp_path / "data", *options) as server:
        reader = Reader(server.url, event_id, seen[-1][0] if seen else "0")
        deadline = time.monotonic() + 60
        while reader.is_alive() and time.monotonic() < deadline:
            _answer_requests(server, run_id)
            time.sleep(0.05)
        reader.join(5)
        assert not reader.is_alive(), "the run does not end"
        seen += _whole_frames(reader.data)
        whole = server.http.get(f"/api/chat/{event_id}/stream?protocol=ux").content
    assert [frame_id for frame_id, _ in seen] == [frame_id for frame_id, _ in frames(whole)]
    with closing(sqlite3.connect(tmp_path / "data" / "headrace.db")) as connection:
        records = stored_records(connection)[run_id]
    _check_log(records)
    assert isinstance(records[-2].event, _TERMINALS)
    _check_bodies(journal)


def _wait_and_answer(server: ServerProcess, run_id: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _answer_requests(server, run_id)
        time.sleep(0.03)


def _check_bodies(journal: Path) -> None:
    """No call that cannot be repeated has run twice."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    twice: Any = {line: count for line, count in Counter(lines).items() if count > 1}
    assert not twice

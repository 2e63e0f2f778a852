"""Servers of a cluster that are killed, stopped and cut off: the others go on with their runs, and
nothing is lost, shown twice or done twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest

from headrace import events as ev
from headrace.events import Record
from headrace.server.storage.postgres.storage import PostgresStorage
from tests.cluster.nodes import LEASE_S, serve_node, serve_nodes
from tests.cluster.places import SHARED, create_place
from tests.server.server_process import ServerProcess
from tests.server.serving import frames
from tests.server.test_continue_after_kill import (
    Reader,
    _answer_requests,
    _check_bodies,
    _check_log,
    _run_id_of,
    _whole_frames,
)

KILLS = int(os.environ.get("HEADRACE_SOAK_CLUSTER_KILLS", "2"))
_AGENT = "tests.server.resumable_agent:agent"
_END_S = 90.0


def ask(server: ServerProcess) -> tuple[str, str]:
    """Begin a run; return the ids of its answer and of itself."""
    response = server.http.send(
        server.http.build_request("POST", "/api/chat", json={"message": "Go."}), stream=True
    )
    assert response.status_code == 200, response.read()
    event_id = response.headers["x-event-id"]
    return event_id, _run_id_of(server, event_id)


def read_records(place: dict[str, str], run_id: str) -> list[Record]:
    async def main() -> list[Record]:
        storage = PostgresStorage(place["store"], log_url=place.get("log"), node="reader")
        await storage.open()
        try:
            return await storage.log.read(run_id)
        finally:
            await storage.close()

    return asyncio.run(main())


def read_to_the_end(server: ServerProcess, event_id: str, run_id: str, after: str) -> bytes:
    """Read a stream to its end, and answer what the run asks for."""
    reader = Reader(server.url, event_id, after)
    deadline = time.monotonic() + _END_S
    while reader.is_alive() and time.monotonic() < deadline:
        _answer_requests(server, run_id)
        time.sleep(0.05)
    reader.join(5)
    assert not reader.is_alive(), "the run does not end"
    return reader.data


@pytest.fixture(params=SHARED)
def kind(request: pytest.FixtureRequest) -> str:
    """What the servers share."""
    return str(request.param)


@pytest.mark.parametrize("seed", range(KILLS))
def test_another_server_goes_on_with_the_runs_of_one_that_was_killed(
    seed: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(journal))
    chance = random.Random(seed)
    place = create_place(kind)
    with serve_nodes(2, place, tmp_path, _AGENT, "--on-interrupt", "continue") as (first, second):
        event_id, run_id = ask(first)
        readers = [Reader(server.url, event_id, "0") for server in (first, second)]
        time.sleep(chance.random() * 1.2)
        first.kill()
        readers[0].join(30)
        seen = _whole_frames(readers[0].data)
        rest = read_to_the_end(second, event_id, run_id, seen[-1][0] if seen else "0")
        readers[1].join(10)
        assert not readers[1].is_alive()
        seen += _whole_frames(rest)
        whole = frames(second.http.get(f"/api/chat/{event_id}/stream?protocol=ux").content)
        assert seen == whole
        # The client of the other server saw the run go on, without asking again.
        assert _whole_frames(readers[1].data) == whole
    records = read_records(place, run_id)
    _check_log(records)
    _check_bodies(journal)


def test_a_server_that_slept_through_its_lease_writes_nothing_more(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(journal))
    place = create_place(kind)
    with serve_nodes(2, place, tmp_path, _AGENT, "--on-interrupt", "continue") as (first, second):
        # Until the second server may take over.
        time.sleep(LEASE_S * 1.2)
        event_id, run_id = ask(first)
        time.sleep(0.1)
        first.process.send_signal(signal.SIGSTOP)
        try:
            data = read_to_the_end(second, event_id, run_id, "0")
            before = read_records(place, run_id)
        finally:
            first.process.send_signal(signal.SIGCONT)
        assert b"message_final" in data
        first.wait_for("/readyz", 200)
        time.sleep(LEASE_S)
        assert read_records(place, run_id) == before
        # Also the server that has lost the run shows its end.
        whole = first.http.get(f"/api/chat/{event_id}/stream?protocol=ux").content
        assert frames(whole) == frames(data)
    _check_log(before)
    _check_bodies(journal)
    assert sum(isinstance(record.event, ev.RunResumed) for record in before) >= 1


def test_a_server_that_is_stopped_hands_its_runs_over(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(journal))
    place = create_place(kind)
    with serve_node(place, tmp_path / "b", _AGENT, "--on-interrupt", "continue") as second:
        with serve_node(place, tmp_path / "a", _AGENT, "--on-interrupt", "continue") as first:
            event_id, run_id = ask(first)
            time.sleep(0.1)
        data = read_to_the_end(second, event_id, run_id, "0")
        assert b"message_final" in data
    records = read_records(place, run_id)
    reasons = [r.event.reason for r in records if isinstance(r.event, ev.RunSuspended)]
    assert "drain" in reasons
    _check_log(records)
    _check_bodies(journal)

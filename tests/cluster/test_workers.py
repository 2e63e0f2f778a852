"""`headrace serve --workers 2`: two processes on one port and one PostgreSQL, also with live
answers in Valkey."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from headrace.server.storage.postgres.pool import Pool
from tests.cluster.nodes import LEASE_S
from tests.cluster.places import SHARED, create_place
from tests.cluster.test_lost_servers import read_records
from tests.cluster.workers import (
    connect_to,
    find_children,
    find_worker,
    is_running,
    serve_workers,
    wait_until,
)
from tests.server.server_process import ServerProcess, command, refuse
from tests.server.serving import frames
from tests.server.test_continue_after_kill import (
    Reader,
    _answer_requests,
    _check_bodies,
    _check_log,
    _run_id_of,
    _whole_frames,
)

_AGENT = "tests.cluster.worker_agent:agent"
_SLOW = "tests.cluster.worker_agent:slow_agent"
_RESUMABLE = "tests.server.resumable_agent:agent"


@pytest.fixture(scope="module", params=SHARED)
def place(request: pytest.FixtureRequest) -> dict[str, str]:
    return create_place(str(request.param))


@pytest.fixture(scope="module")
def server(
    place: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Generator[ServerProcess]:
    """Two workers, which several tests use."""
    with serve_workers(place, tmp_path_factory.mktemp("data"), _AGENT) as server:
        yield server


@pytest.fixture
def pair(server: ServerProcess) -> Generator[tuple[httpx.Client, httpx.Client]]:
    """A client of each worker."""
    one, other = sorted(find_children(server.process.pid))
    with connect_to(server, one) as first, connect_to(server, other) as second:
        yield first, second


def _ask(client: httpx.Client) -> tuple[str, str]:
    """Begin an answer, and leave; return its id and that of the conversation. The connection is
    used up."""
    with client.stream("POST", "/api/chat", json={"message": "Go."}) as response:
        assert response.status_code == 200, response.read()
        return response.headers["x-event-id"], response.headers["x-conversation-id"]


def _read(client: httpx.Client, event_id: str, after: str, count: int) -> list[tuple[str, str]]:
    """Read some frames of an answer, or all that are left."""
    data = b""
    headers = {"last-event-id": after}
    url = f"/api/chat/{event_id}/stream?protocol=ux"
    with client.stream("GET", url, headers=headers) as response:
        assert response.status_code == 200, response.read()
        for piece in response.iter_raw():
            data += piece
            if len(_whole_frames(data)) >= count:
                break
    return _whole_frames(data)[:count]


def test_connections_land_on_both_workers(server: ServerProcess) -> None:
    pids = find_children(server.process.pid)
    assert len(pids) == 2
    found: set[int] = set()
    for _ in range(100):
        with (
            httpx.Client(base_url=server.url, trust_env=False, verify=False) as client,
            client.stream("GET", "/healthz") as response,
        ):
            found.add(find_worker(response, pids))
        if found == pids:
            break
    assert found == pids


def test_metrics_are_those_of_both_workers(
    server: ServerProcess, pair: tuple[httpx.Client, httpx.Client]
) -> None:
    texts = [client.get("/metrics").text for client in pair]
    for text in texts:
        for number in (1, 2):
            assert f'headrace_worker_up{{worker="{number}"}} 1\n' in text
            assert f'headrace_live_runs{{worker="{number}"}} ' in text
            # With the labels that a metric has anyway.
            served = rf'duration_seconds_count\{{worker="{number}",.*http_route="/healthz"'
            assert re.search(served, text)
        assert text.count("# TYPE headrace_live_runs gauge\n") == 1


def test_a_run_is_watched_and_resumed_at_the_other_worker(
    server: ServerProcess, pair: tuple[httpx.Client, httpx.Client]
) -> None:
    event_id, _ = _ask(pair[0])
    one, other = sorted(find_children(server.process.pid))
    seen: list[tuple[str, str]] = []
    turn = 0
    while not (seen and "message_final" in seen[-1][1]):
        assert turn < 100
        with connect_to(server, (other, one)[turn % 2]) as client:
            seen += _read(client, event_id, seen[-1][0] if seen else "0", 5 + turn % 4)
        turn += 1
    assert turn > 3
    whole = set[bytes]()
    for pid in (one, other):
        with connect_to(server, pid) as client:
            whole.add(client.get(f"/api/chat/{event_id}/stream?protocol=ux").content)
    assert len(whole) == 1
    assert frames(whole.pop()) == seen


def test_a_run_is_cancelled_at_the_other_worker(
    server: ServerProcess, pair: tuple[httpx.Client, httpx.Client]
) -> None:
    event_id, _ = _ask(pair[0])
    reader = Reader(server.url, event_id, "0")
    cancelled = pair[1].post(f"/api/chat/{event_id}/cancel")
    assert cancelled.json()["was_live"] is True
    reader.join(20)
    assert not reader.is_alive()
    assert "message_cancelled" in frames(reader.data)[-1][1]


def test_a_run_is_steered_at_the_other_worker(
    server: ServerProcess, pair: tuple[httpx.Client, httpx.Client]
) -> None:
    event_id, conversation_id = _ask(pair[0])
    body = {"message": "Be brief.", "conversation_id": conversation_id, "mode": "steer"}
    assert pair[1].post("/api/chat", json=body).status_code in (200, 202)
    reader = Reader(server.url, event_id, "0")
    reader.join(20)
    assert "message_final" in frames(reader.data)[-1][1]
    assert b"I heard: Be brief." in reader.data


def _read_nodes(place: dict[str, str]) -> int:
    async def main() -> int:
        pool = Pool(place["store"])
        await pool.open()
        try:
            return len(await pool.fetch("SELECT id FROM nodes"))
        finally:
            await pool.close()

    return asyncio.run(main())


def test_a_killed_worker_is_replaced_and_does_not_keep_its_lease(
    server: ServerProcess, place: dict[str, str]
) -> None:
    before = find_children(server.process.pid)
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(find_children(server.process.pid) - {victim}) == 2, "not replaced")
    # The new one is a server of its own, and has removed the one that is gone.
    (new,) = find_children(server.process.pid) - before
    with connect_to(server, new) as client:
        wait_until(lambda: client.get("/metrics").text.count("worker_up{") == 2, "no metrics")
    wait_until(lambda: _read_nodes(place) == 2, "the lease of the killed worker stays")


@pytest.mark.parametrize(("on_interrupt", "agent"), [("continue", _RESUMABLE), ("close", _SLOW)])
def test_watchers_at_the_other_worker_miss_nothing_if_one_is_killed(
    on_interrupt: str, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(tmp_path / "journal"))
    place = create_place("postgres")
    options = (agent, "--on-interrupt", on_interrupt, "--lease", str(LEASE_S))
    with serve_workers(place, tmp_path, *options) as server:
        holder, other = sorted(find_children(server.process.pid))
        # Until the other one may take over.
        time.sleep(LEASE_S * 1.2)
        with connect_to(server, holder) as asking:
            event_id, _ = _ask(asking)
        run_id = _run_id_of(server, event_id)
        with connect_to(server, other) as client, ThreadPoolExecutor(1) as threads:
            watching = threads.submit(_read, client, event_id, "0", 10_000)
            with connect_to(server, other) as another:
                assert len(_read(another, event_id, "0", 4)) == 4
            assert not watching.done()
            os.kill(holder, signal.SIGKILL)
            _answer_until(server, run_id, watching)
            seen = watching.result()
        wait_until(lambda: len(find_children(server.process.pid)) == 2, "not replaced")
        for pid in find_children(server.process.pid):
            with connect_to(server, pid) as client:
                whole = client.get(f"/api/chat/{event_id}/stream?protocol=ux").content
                assert frames(whole) == seen
    end = "message_final" if on_interrupt == "continue" else "message_error"
    assert end in seen[-1][1]
    if on_interrupt == "continue":
        _check_log(read_records(place, run_id))
        _check_bodies(tmp_path / "journal")


def _answer_until(server: ServerProcess, run_id: str, watching: Future[Any]) -> None:
    """Answer what a run asks for, until its stream has ended."""
    until = time.monotonic() + 60
    while not watching.done():
        assert time.monotonic() < until, "the run does not end"
        # A connection to the worker that was killed may be used once more.
        with suppress(httpx.HTTPError):
            _answer_requests(server, run_id)
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_all_workers(number: signal.Signals, tmp_path: Path) -> None:
    with serve_workers(create_place("postgres"), tmp_path, _AGENT, "--drain", "10") as server:
        pids = sorted(find_children(server.process.pid))
        readers: list[Reader] = []
        for pid in pids:
            with connect_to(server, pid) as client:
                readers.append(Reader(server.url, _ask(client)[0], "0"))
        wait_until(lambda: all(b"I wait" in reader.data for reader in readers), "nothing comes")
        server.process.send_signal(number)
        for reader in readers:
            reader.join(20)
        assert server.process.wait(20) == 0
        assert not any(map(is_running, pids))
    for reader in readers:
        assert "message_final" in frames(reader.data)[-1][1]


def test_no_worker_survives_its_supervisor(tmp_path: Path) -> None:
    with serve_workers(create_place("postgres"), tmp_path, _AGENT) as server:
        pids = find_children(server.process.pid)
        assert len(pids) == 2
        server.kill()
        wait_until(lambda: not any(map(is_running, pids)), "a worker survives")


def test_a_data_folder_is_refused(tmp_path: Path) -> None:
    said = refuse(tmp_path / "data", "--workers", "2")
    assert said.count("\n") == 1
    assert "--workers 2 needs a database that the workers share: add --store" in said
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_one_error(tmp_path: Path) -> None:
    store = create_place("postgres")["store"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refuse(tmp_path, "--workers", "2", "--store", store, "--port", port)
    assert said.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said


def test_a_wrong_store_ends_the_server_at_once(tmp_path: Path) -> None:
    options = ("--workers", "2", "--store", "postgresql://headrace@127.0.0.1:1/none")
    before = time.monotonic()
    done = subprocess.run(
        command(tmp_path, *options), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("cannot use the database 127.0.0.1:1/none") == 1
    assert "worker 1 ended with status" in done.stderr
    assert not done.stdout
    assert time.monotonic() - before < 15

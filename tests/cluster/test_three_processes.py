"""Three servers in processes of their own, and a client that picks one at random for every request,
also while one of them is killed."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.cluster.nodes import serve_nodes
from tests.cluster.places import SHARED, create_place
from tests.cluster.test_lost_servers import ask, read_records
from tests.server.server_process import ServerProcess
from tests.server.serving import frames
from tests.server.test_continue_after_kill import (
    _answer_requests,
    _check_bodies,
    _check_log,
    _whole_frames,
)

KILLS = int(os.environ.get("HEADRACE_SOAK_CLUSTER_KILLS", "2"))
_AGENT = "tests.server.resumable_agent:agent"
_END_S = 90.0
_ENDS = ("message_final", "message_error", "message_cancelled")


class _Client:
    """Reads an answer, and answers its requests, each time at a server that it picks."""

    def __init__(self, servers: Sequence[ServerProcess], chance: random.Random) -> None:
        self.servers = list(servers)
        self.chance = chance
        self.seen: list[tuple[str, str]] = []
        self.used: set[str] = set()
        self._is_over = threading.Event()

    def pick(self) -> ServerProcess:
        server = self.chance.choice(self.servers)
        self.used.add(server.url)
        return server

    def read(self, event_id: str, run_id: str) -> list[tuple[str, str]]:
        """Read a few frames at each connection, until the last one."""
        answering = threading.Thread(target=self._answer, args=(run_id,))
        answering.start()
        until = time.monotonic() + _END_S
        try:
            while not (self.seen and any(end in self.seen[-1][1] for end in _ENDS)):
                assert time.monotonic() < until, "the run does not end"
                self._read_some(event_id, self.chance.randint(1, 6))
        finally:
            self._is_over.set()
            answering.join(30)
        return self.seen

    def _read_some(self, event_id: str, count: int) -> None:
        after = self.seen[-1][0] if self.seen else "0"
        data = b""
        url = f"{self.pick().url}/api/chat/{event_id}/stream?protocol=ux"
        try:
            with httpx.stream(
                "GET",
                url,
                headers={"last-event-id": after},
                timeout=2.0,
                trust_env=False,
                verify=False,
            ) as response:
                assert response.status_code == 200, response.read()
                for read in response.iter_bytes():
                    data += read
                    if len(_whole_frames(data)) >= count:
                        break
        except httpx.HTTPError:
            # A server that is gone, or one that has nothing to tell for a while.
            time.sleep(0.05)
        self.seen += _whole_frames(data)[:count]

    def _answer(self, run_id: str) -> None:
        while not self._is_over.wait(0.05):
            try:
                _answer_requests(self.pick(), run_id)
            except (httpx.HTTPError, AssertionError, KeyError):
                continue  # a server that is gone


@pytest.fixture(params=SHARED)
def kind(request: pytest.FixtureRequest) -> str:
    """What the servers share."""
    return str(request.param)


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_random_server_is_killed_and_a_client_reads_on_anywhere(
    seed: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST_JOURNAL", str(tmp_path / "journal"))
    chance = random.Random(seed)
    place = create_place(kind)
    with serve_nodes(3, place, tmp_path, _AGENT, "--on-interrupt", "continue") as servers:
        client = _Client(servers, chance)
        event_id, run_id = ask(client.pick())
        victim = chance.choice(servers)

        def kill() -> None:
            client.servers.remove(victim)
            victim.kill()

        killing = threading.Timer(chance.random() * 1.2, kill)
        killing.start()
        seen = client.read(event_id, run_id)
        killing.join()
        # The one that was killed perhaps never was.
        assert {server.url for server in client.servers} <= client.used, "every server was asked"
        for server in client.servers:
            whole = server.http.get(f"/api/chat/{event_id}/stream?protocol=ux").content
            assert frames(whole) == seen
            (conversation,) = server.get("/api/conversations")["conversations"]
            stored = server.get(f"/api/conversations/{conversation['id']}")["messages"]
            assert [one["role"] for one in stored] == ["user", "assistant"]
    records = read_records(place, run_id)
    _check_log(records)
    _check_bodies(tmp_path / "journal")


def test_a_cancel_at_any_server_ends_the_answer_at_all_of_them(kind: str, tmp_path: Path) -> None:
    place = create_place(kind)
    with serve_nodes(3, place, tmp_path, _AGENT) as servers:
        for holder, other in ((0, 1), (1, 2), (2, 0)):
            event_id, _ = ask(servers[holder])
            cancelled = servers[other].http.post(f"/api/chat/{event_id}/cancel")
            assert cancelled.status_code == 200, cancelled.text
            streams = [
                server.http.get(f"/api/chat/{event_id}/stream?protocol=ux").content
                for server in servers
            ]
            assert len(set(streams)) == 1
            assert "message_cancelled" in frames(streams[0])[-1][1]

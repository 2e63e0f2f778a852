"""A server that runs out of memory may die, but nothing that it has stored or sent is damaged."""

from __future__ import annotations

import resource
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.server.server_process import ServerProcess, serve
from tests.server.serving import frames

LARGE = "w" * 900_000


def _virtual_bytes(pid: int) -> int | None:
    """The size of a process, or None if it is about to end."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists() or not hasattr(resource, "prlimit"):
        pytest.skip("no limits of other processes here")
    lines = [one for one in status.read_text().splitlines() if one.startswith("VmSize")]
    if not lines:
        return None
    (line,) = lines
    return int(line.split()[1]) * 1_024


def _ask(server: ServerProcess, message: str, seen: dict[str, bytes]) -> None:
    """Ask, and keep what comes of the stream, also if it is cut off."""
    event_id, data = "", b""
    try:
        with (
            httpx.Client(base_url=server.url, timeout=60, trust_env=False, verify=False) as http,
            http.stream("POST", "/api/chat", json={"message": message}) as response,
        ):
            event_id = response.headers.get("x-event-id", "")
            for piece in response.iter_raw():
                data += piece
    except httpx.HTTPError:
        pass
    if event_id:
        seen[event_id] = data


def test_without_memory_nothing_that_was_stored_is_damaged(tmp_path: Path) -> None:
    seen: dict[str, bytes] = {}
    with serve(tmp_path) as server:
        _ask(server, "What is 12 * 34?", seen)
        asked = 1
        # At the end there is none to spare, but what the process has freed meanwhile.
        for spare_bytes in (8_000_000, 2_000_000, *[0] * 8):
            used = _virtual_bytes(server.process.pid)
            if used is None:
                break
            limit = used + spare_bytes
            # The hard limit stays: it cannot be raised again, and the next limit may be higher.
            _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_AS)
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, hard))
            texts = (*[LARGE] * 6, *["What is 12 * 34?"] * 6, "long")
            asked += len(texts)
            threads = [threading.Thread(target=_ask, args=(server, text, seen)) for text in texts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if server.process.poll() is not None or (spare_bytes == 0 and len(seen) < asked):
                break
        # Otherwise there was enough memory, and nothing was tested.
        assert server.process.poll() is not None or len(seen) < asked
        server.kill()
    assert seen
    database = tmp_path / "headrace.db"
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    with serve(tmp_path) as server:
        for event_id, data in seen.items():
            whole = server.http.get(f"/api/chat/{event_id}/stream").content
            complete = data[: data.rfind(b"\n\n") + 2] if b"\n\n" in data else b""
            known = frames(complete)
            assert frames(whole)[: len(known)] == known
        assert server.ask("Still there?").status_code == 200

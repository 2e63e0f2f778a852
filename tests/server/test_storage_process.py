"""What happens to the files of a server, seen from the outside with real processes."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from tests.server.server_process import ServerProcess, refuse, serve

ROOT = Path(__file__).parents[2]
MARKER = "zanzibar7391"


def serve_quickly(data: Path, before: Sequence[str] = ()) -> AbstractContextManager[ServerProcess]:
    """A server whose model answers without pauses."""
    return serve(data, "tests.server.quick_agent:agent", before=before, folder=ROOT)


def files_with(data: Path, marker: str) -> list[str]:
    return [
        path.name
        for path in data.iterdir()
        if marker.encode() in (content := path.read_bytes()) or marker.upper().encode() in content
    ]


def test_nothing_of_a_deleted_conversation_is_left_in_any_file(tmp_path: Path) -> None:
    with serve_quickly(tmp_path) as server:
        for number in range(3):
            server.ask(f"What about number {number}?")
        answer = server.ask(f"What is {MARKER}? " + f"Say {MARKER} again. " * 1_000)
        conversation_id = answer.headers["x-conversation-id"]
        assert MARKER in answer.text
        assert files_with(tmp_path, MARKER)
        found = server.get(f"/api/conversations?q={MARKER}")
        assert [one["id"] for one in found["conversations"]] == [conversation_id]
        assert server.http.delete(f"/api/conversations/{conversation_id}").status_code == 204
        assert server.get(f"/api/conversations?q={MARKER}")["conversations"] == []
        until_s = time.monotonic() + 60
        while files_with(tmp_path, MARKER) and time.monotonic() < until_s:
            time.sleep(0.1)
        assert files_with(tmp_path, MARKER) == []
        assert len(server.get("/api/conversations")["conversations"]) >= 3


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all, but a text", b"SQLite format 3\0"]
)
def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "headrace.db").write_bytes(content)
    said = refuse(tmp_path)
    assert "headrace.db" in said
    assert len(said.strip().splitlines()) == 1, said
    assert (tmp_path / "headrace.db").read_bytes() == content


def test_the_database_of_another_program_is_refused_in_one_line(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "headrace.db")) as other, other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    said = refuse(tmp_path)
    assert "another program" in said
    assert len(said.strip().splitlines()) == 1, said


def test_what_cannot_be_a_data_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for data in (tmp_path / "file", tmp_path / "file" / "deeper", Path("/proc/headrace")):
        said = refuse(data)
        assert "data folder" in said
        assert len(said.strip().splitlines()) == 1, said


def test_a_damaged_file_is_refused_after_a_kill(tmp_path: Path) -> None:
    with serve_quickly(tmp_path) as server:
        for number in range(5):
            server.ask(f"What about {number}? " + "word " * 2_000)
        server.kill()
    path = tmp_path / "headrace.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page_bytes,) = database.execute("PRAGMA page_size").fetchone()
        # Nothing but the check reads the messages before the first client asks for them.
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'messages'"
        (page,) = database.execute(query).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\xff" * 200)
    said = refuse(tmp_path)
    assert "headrace.db is damaged" in said
    assert len(said.strip().splitlines()) == 1, said


def test_files_and_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    with serve_quickly(data) as server:
        server.ask("Hello?")
        assert find_shared(data) == []
    # Files of an earlier version, or copied by hand.
    data.chmod(0o755)
    for path in data.glob("headrace.db*"):
        path.chmod(0o644)
    with serve_quickly(data) as server:
        server.ask("Hello again?")
        assert find_shared(data) == []


def find_shared(folder: Path) -> list[Path]:
    """Return the folder and its files, as far as others can read them."""
    files = (folder, *folder.iterdir())
    return [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_a_removed_lock_file_lets_no_second_server_in(tmp_path: Path) -> None:
    with serve_quickly(tmp_path) as server:
        assert server.get("/readyz")["status"] == 200
        (tmp_path / "server.lock").unlink()
        assert "lock file" in server.wait_for("/readyz", 503)["problem"]
        assert "in use by another server" in refuse(tmp_path)


def test_a_removed_folder_is_no_success(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_quickly(data) as server:
        assert "message_final" in server.ask("Hello?").text
        shutil.rmtree(data)
        assert "removed" in server.wait_for("/readyz", 503)["problem"]
        assert server.http.get("/healthz").status_code == 200
        answer = server.ask("And now?")
        assert answer.status_code == 503, answer.text


def unshare(script: str) -> list[str]:
    """Run a command in mount and user namespaces of its own, after a script."""
    return ["unshare", "-rm", "sh", "-c", f'{script} && exec "$@"', "sh"]


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    words = [*unshare("mount -t tmpfs -o size=1m none /mnt"), "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="no mount namespaces here")


@needs_mounts
def test_only_the_data_folder_has_to_be_writable(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    script = f"mount --bind {data} {data} && mount -o remount,bind,ro /"
    with serve_quickly(data, before=unshare(script)) as server:
        first = server.ask("Hello? " + "word " * 20_000)
        assert "message_final" in first.text
        assert server.get("/api/conversations?q=word")["conversations"]
        path = f"/api/conversations/{first.headers['x-conversation-id']}"
        assert server.http.delete(path).status_code == 204
        assert server.get("/readyz")["status"] == 200


@needs_mounts
def test_a_full_disk_is_not_ready_and_shows_no_internals(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    script = f"mount -t tmpfs -o size=3m none {data}"
    with serve_quickly(data, before=unshare(script)) as server:
        assert server.get("/readyz")["status"] == 200
        assert "\nheadrace_ready 1\n" in server.http.get("/metrics").text
        answer = server.ask("Hello?")
        # Until not even the shortest message fits.
        for words in (20_000, 2_000, 200, 0):
            for _ in range(200):
                answer = server.ask("Once more. " + "filler " * words)
                if answer.status_code != 200:
                    break
        assert answer.json()["error"]["code"] == "storage"
        assert "full" not in answer.text
        # Even if the test write of the server still fits. What a checkpoint frees is filled again.
        # The answer of /readyz is used again for a while, so it takes some time to change.
        deadline_s = time.monotonic() + 30
        while (health := server.get("/readyz"))["status"] == 200 and time.monotonic() < deadline_s:
            server.ask("Once more.")
        assert health["status"] == 503, health
        assert "full" in health["problem"]
        assert "\nheadrace_ready 0\n" in server.http.get("/metrics").text
        assert server.http.get("/healthz").status_code == 200

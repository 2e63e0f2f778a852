"""Copies of a data folder: taken under load, restored, and served again."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headrace.cli.main import main
from headrace.server import create_app
from headrace.server.storage.data_folder import DATABASE
from tests.server.quick_agent import agent
from tests.server.server_process import ServerProcess, serve

COPIES = 20
_QUICK = "tests.server.quick_agent:agent"


class _Load:
    """Asks on and on, and remembers which answers were complete."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.complete: list[tuple[str, str]] = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(3)]

    def __enter__(self) -> _Load:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for one in self._threads:
            one.join(60)

    def _ask(self) -> None:
        number = 0
        while not self._is_over.is_set():
            number += 1
            response = self.server.ask(f"What is {number} times 7? Think about it.")
            place = response.headers["x-conversation-id"], response.headers["x-event-id"]
            if '"message_final"' in response.text:
                self.complete.append(place)


def _read(client: TestClient, conversation_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/conversations/{conversation_id}").json()
    return found


def test_copies_under_load_are_whole_and_can_be_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(tmp_path / "data", _QUICK) as server, _Load(server) as load:
        known: list[list[tuple[str, str]]] = []
        for number in range(COPIES):
            while len(load.complete) < 3 * (number + 1):
                pass
            known.append(list(load.complete))
            target = tmp_path / f"copy-{number}"
            assert main(["backup", str(target), "--data", str(tmp_path / "data")]) == 0
    sizes: list[int] = []
    for number, complete in enumerate(known):
        data = tmp_path / f"restored-{number}"
        assert main(["restore", str(tmp_path / f"copy-{number}"), "--data", str(data)]) == 0
        assert f"serve --data {data}" in capsys.readouterr().out
        with TestClient(create_app(agent, data=data), base_url="http://127.0.0.1") as client:
            assert client.get("/readyz").status_code == 200
            for conversation_id, event_id in complete:
                messages = _read(client, conversation_id)["messages"]
                assert [one["id"] for one in messages][-1] == event_id
                assert messages[-1]["event"]["segments"][-1]["text"]
            sizes.append(len(client.get("/api/conversations").json()["conversations"]))
            # Every question that is there has an answer, complete or interrupted.
            for one in client.get("/api/conversations").json()["conversations"]:
                assert _read(client, one["id"])["messages"][-1]["role"] == "assistant"
    assert sizes[-1] > sizes[0]


def test_a_copy_has_uploads_too_and_belongs_to_its_owner(tmp_path: Path) -> None:
    with TestClient(create_app(agent, data=tmp_path / "data"), base_url="http://127.0.0.1") as one:
        one.post("/api/chat", json={"message": "keep this harbor"}).read()
        files = one.post(
            "/api/files?name=note.txt",
            content=b"a note",
            headers={"content-type": "application/octet-stream"},
        )
        assert files.status_code in (200, 201), files.text
        assert main(["backup", str(tmp_path / "copy"), "--data", str(tmp_path / "data")]) == 0
    copy = tmp_path / "copy"
    assert b"harbor" in (copy / DATABASE).read_bytes()
    assert sorted(one.name for one in copy.iterdir()) == ["files", DATABASE]
    assert any(one.is_file() and one.read_bytes() == b"a note" for one in copy.rglob("*"))
    for path in (copy, *copy.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    with (
        closing(sqlite3.connect(tmp_path / "data" / DATABASE)) as old,
        closing(sqlite3.connect(copy / DATABASE)) as new,
    ):
        for pragma in ("application_id", "user_version", "auto_vacuum", "page_size"):
            query = f"PRAGMA {pragma}"
            assert old.execute(query).fetchone() == new.execute(query).fetchone(), pragma


@pytest.mark.parametrize("kind", ["missing", "foreign", "damaged", "cut", "empty"])
def test_what_is_no_whole_copy_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    with TestClient(create_app(agent, data=tmp_path / "data"), base_url="http://127.0.0.1") as one:
        for number in range(20):
            one.post("/api/chat", json={"message": f"Question {number}"}).read()
    copy = tmp_path / "copy"
    assert main(["backup", str(copy), "--data", str(tmp_path / "data")]) == 0
    database = copy / DATABASE
    whole = database.read_bytes()
    if kind == "missing":
        database.unlink()
    elif kind == "foreign":
        database.unlink()
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("CREATE TABLE other (a)")
    elif kind == "damaged":
        # From the second page on, every third one is overwritten.
        pages = [whole[at : at + 1_024] for at in range(0, len(whole), 1_024)]
        database.write_bytes(
            b"".join(b"\xff" * 1_024 if at % 3 == 1 else page for at, page in enumerate(pages))
        )
    else:
        database.write_bytes(whole[: len(whole) // 3] if kind == "cut" else b"")
    capsys.readouterr()
    assert main(["restore", str(copy), "--data", str(tmp_path / "new")]) == 1
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert str(copy) in said
    assert not (tmp_path / "new" / DATABASE).exists()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        with TestClient(create_app(agent, data=tmp_path / name), base_url="http://127.0.0.1") as c:
            c.post("/api/chat", json={"message": name}).read()
    assert main(["backup", str(tmp_path / "copy"), "--data", str(tmp_path / "one")]) == 0
    before = (tmp_path / "two" / DATABASE).read_bytes()
    assert main(["backup", str(tmp_path / "copy"), "--data", str(tmp_path / "two")]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "copy"), "--data", str(tmp_path / "two")]) == 1
    assert "has a database already" in capsys.readouterr().err
    assert (tmp_path / "two" / DATABASE).read_bytes() == before
    assert main(["backup", str(tmp_path / "third"), "--data", str(tmp_path / "none")]) != 0
    assert not (tmp_path / "third").exists()
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_the_commands_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of "Back up and restore", in their order, while a server uses the folder."""
    page = (Path(__file__).parents[2] / "docs" / "howto" / "back-up.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert [line.split()[1] for line in commands] == ["backup", "restore", "serve"]
    with serve(tmp_path / "data", _QUICK) as server:
        monkeypatch.chdir(tmp_path)
        place = server.ask("hello").headers["x-conversation-id"]
        for line in commands[:2]:
            assert main(line.split()[1:]) == 0
    monkeypatch.undo()
    with serve(tmp_path / commands[2].split()[-1], _QUICK) as server:
        assert len(server.get(f"/api/conversations/{place}")["messages"]) == 2


def test_a_server_that_runs_keeps_its_folder(tmp_path: Path) -> None:
    """A restore into the folder of a running server is refused by its lock."""
    with serve(tmp_path / "data", _QUICK) as server:
        server.ask("hello")
        assert main(["backup", str(tmp_path / "copy"), "--data", str(tmp_path / "data")]) == 0
        assert main(["restore", str(tmp_path / "copy"), "--data", str(tmp_path / "data")]) == 1
        assert json.loads(server.http.get("/readyz").text)

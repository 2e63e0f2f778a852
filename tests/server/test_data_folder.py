"""The lock of a data folder, and the process that holds it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headrace
from headrace import Agent
from headrace.client import Client
from headrace.server import create_app
from headrace.server.storage.data_folder import LOCK, DataFolder, Holder, find_holder


def test_a_folder_that_is_held_tells_by_whom(tmp_path: Path) -> None:
    assert find_holder(tmp_path) is None
    folder = DataFolder(tmp_path, address="http://example")
    assert find_holder(tmp_path) == Holder(os.getpid(), "http://example")
    folder.close()


def test_a_damaged_lock_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_bytes(b'{"pid":1,"address":"http://\xc3"}')
    assert find_holder(tmp_path) is None


def test_the_name_of_the_lock_is_said_once() -> None:
    files = Path(headrace.__file__).parent.rglob("*.py")
    found = [file.name for file in files if "server.lock" in file.read_text(encoding="utf-8")]
    assert found == ["data_folder.py"]


def test_a_relative_folder_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    app = create_app(Agent("rehearsal:m"), data="data")
    monkeypatch.chdir(tmp_path / "b")
    with Client.in_process(app) as client, client.ask("Hello") as answer:
        assert answer.wait().segments
    assert list((tmp_path / "b").iterdir()) == []
    assert (tmp_path / "a" / "data" / "headrace.db").exists()

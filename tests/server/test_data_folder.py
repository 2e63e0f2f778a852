"""The lock of a data folder, and the process that holds it."""

from __future__ import annotations

import os
from pathlib import Path

import headrace
from headrace.server.storage.data_folder import DataFolder, Holder, find_holder


def test_a_folder_that_is_held_tells_by_whom(tmp_path: Path) -> None:
    assert find_holder(tmp_path) is None
    folder = DataFolder(tmp_path, address="http://example")
    assert find_holder(tmp_path) == Holder(os.getpid(), "http://example")
    folder.close()


def test_the_name_of_the_lock_is_said_once() -> None:
    files = Path(headrace.__file__).parent.rglob("*.py")
    found = [file.name for file in files if "server.lock" in file.read_text(encoding="utf-8")]
    assert found == ["data_folder.py"]

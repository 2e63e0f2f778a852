"""Sources: names given, folders walked, streams opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.cli.sources.source import Wanted, find_sources, open_source
from headrace.errors import InputError
from tests.unit.cli.stream import HELLO


def _tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(HELLO)


def test_a_folder_gives_its_streams_sorted_and_joined_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path, "s/b/2.sse", "s/a/1.jsonl", "s/a/1.jsonl.chunks.json", "s/z.nul", "s/notes.md")
    _tree(tmp_path, "s/.hidden.sse", "s/.git/x.sse")
    monkeypatch.chdir(tmp_path)
    joined = [os.path.join("s", *rest) for rest in (("a", "1.jsonl"), ("b", "2.sse"), ("z.nul",))]
    assert find_sources(["s"]) == joined
    assert find_sources(["s/"]) == [name.replace("s" + os.sep, "s/", 1) for name in joined]


def test_names_stay_as_given_and_in_order(tmp_path: Path) -> None:
    names = ["-", str(tmp_path / "b.sse"), str(tmp_path / "a.sse")]
    assert find_sources(names) == names


def test_a_folder_without_streams_is_a_problem(tmp_path: Path) -> None:
    _tree(tmp_path, "notes.md")
    (name,) = find_sources([str(tmp_path)])
    with pytest.raises(InputError, match="no recorded streams"), open_source(name, Wanted()):
        pass


def test_a_folder_that_cannot_be_listed_stays_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path, "a.sse", "locked/b.sse")
    locked = str(tmp_path / "locked")
    scandir, listdir = os.scandir, os.listdir

    def guarded(path: str | Path) -> str:
        if os.fspath(path) == locked:
            raise PermissionError(13, "Permission denied", locked)
        return os.fspath(path)

    monkeypatch.setattr(os, "scandir", lambda path: scandir(guarded(path)))
    monkeypatch.setattr(os, "listdir", lambda path: listdir(guarded(path)))
    assert find_sources([str(tmp_path)]) == [str(tmp_path / "a.sse"), locked]
    with pytest.raises(PermissionError), open_source(locked, Wanted()):
        pass


def test_what_the_user_says_wins_over_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "a.eventstream"
    path.write_bytes(HELLO)
    with open_source(str(path), Wanted(framing="sse", dialect="anthropic")) as stream:
        assert (stream.framing, stream.dialect) == ("sse", "anthropic")


def test_a_file_without_a_known_ending_is_told_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_bytes(HELLO)
    with open_source(str(path), Wanted()) as stream:
        assert (stream.framing, stream.dialect, stream.is_live) == ("sse", "chat", False)
        assert b"".join(read.data for read in stream.reads) == HELLO

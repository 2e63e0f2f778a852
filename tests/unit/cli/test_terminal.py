"""What only a real terminal shows: colours, the width, the bar."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.stream import HELLO, chunk, sse

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")


def _run(argv: list[str], folder: Path, *, is_bar: bool = False, **environment: str) -> str:
    """What `headrace` writes to a terminal of 60 columns, stderr alone where `is_bar`."""
    leader, follower = pty.openpty()
    blank = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if is_bar else follower,
        stderr=follower,
        cwd=folder,
        env=blank | {"TERM": "xterm", "COLUMNS": "60"} | environment,
    )
    os.close(follower)
    written = _drained(leader)
    assert process.wait() == 0
    return written


def _drained(leader: int) -> str:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # Linux says EIO where the other end is closed
            piece = b""
        if not piece:
            break
        pieces.append(piece)
    os.close(leader)
    return b"".join(pieces).decode()


def test_a_terminal_gets_colours_and_rows_of_its_width(tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(sse(chunk("stop", content="word " * 40), "[DONE]"))
    shown = _run(["decode", "a.sse"], tmp_path)
    assert "\x1b[32mturn_finished" in shown
    (row,) = [line for line in shown.splitlines() if "text_delta" in line]
    assert len(row.replace("\x1b[2m", "").replace("\x1b[0m", "")) == 60


def test_no_color_is_respected(tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(HELLO)
    assert "\x1b" not in _run(["decode", "a.sse"], tmp_path, NO_COLOR="1")


def test_many_files_have_a_bar_that_is_gone_at_the_end(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.sse").write_bytes(HELLO)
    shown = _run(["decode", "--format", "result", "."], tmp_path, is_bar=True)
    assert "decoding " in shown
    assert "0/30" in shown
    assert shown.endswith("\r\x1b[2K")

"""Pictures of the terminal: `python -m tests.chat.pictures FOLDER` draws every state into the
folder, and the strip of the README into the docs."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.chat.picture import picture, rows_of
from tests.chat.terminal import ALT_ENTER, CTRL_C, Terminal
from tests.forking.forked_process import ROOT

_STAGE = ("--agent", "tests.chat.stage:agent")
_STRIP = ROOT / "docs" / "pictures" / "terminal.svg"
_TITLE = "headrace chat"


def main(folder: Path) -> None:
    """Draw them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for columns, lines in ((80, 24), (40, 20)):
        for name, rows in _states(columns, lines):
            path = folder / f"{name}-{columns}.svg"
            path.write_text(picture([(_TITLE, rows)], columns), "utf-8")
    _STRIP.write_text(picture(list(_strip()), 72), "utf-8")


@contextmanager
def _opened(columns: int, lines: int, *argv: str) -> Iterator[tuple[Terminal, Path]]:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        with Terminal(*argv, data=data, columns=columns, lines=lines) as terminal:
            terminal.wait_for_prompt()
            yield terminal, data.parent


def _states(columns: int, lines: int) -> Iterator[tuple[str, Any]]:
    with _opened(columns, lines, *_STAGE) as (terminal, folder):
        yield "begin", rows_of(terminal.screen)
        terminal.send("/re")
        yield "completion", rows_of(terminal.wait_for("regenerate the last").screen)
        terminal.send(CTRL_C)
        terminal.send(f"survey the river,{ALT_ENTER}please")
        yield "lines", rows_of(terminal.wait_for("please").screen)
        terminal.send("\r")
        yield from _survey(terminal, folder)
        terminal.say("fail")
        terminal.wait_for("Too many mills")
        yield "failed", rows_of(terminal.wait_for_prompt().screen)
        terminal.say("wide")
        (folder / "gate1").touch()
        (folder / "gate2").touch()
        yield "wide", rows_of(terminal.wait_for_prompt().screen)
        terminal.say("/list")
        yield "list", rows_of(terminal.wait_for_prompt().screen)
        terminal.say("/open 1")
        yield "open", rows_of(terminal.wait_for_prompt().screen)
        terminal.say("/help")
        yield "help", rows_of(terminal.wait_for("quit; so").wait_for_prompt().screen)
    with _opened(columns, lines) as (terminal, _):
        terminal.say("slow: what is 12 * 34?")
        terminal.wait_for("Reading the message")
        yield "rehearsal", rows_of(terminal.wait_for("│").screen)
        terminal.send(CTRL_C)
        terminal.wait_for("You stopped")
        yield "stopped", rows_of(terminal.wait_for_prompt().screen)


def _survey(terminal: Terminal, folder: Path) -> Iterator[tuple[str, Any]]:
    """Gate by gate."""
    seen = (
        ("asked", "Thinking"),
        ("thinking", "decides how"),
        ("thoughts", "then the power"),
        ("tool", "25 %"),
        ("progress", "75 %"),
        ("checking", "small mill"),
        ("writing", "power_kw"),
        ("settled", "never tires"),
    )
    for number, (name, what) in enumerate(seen):
        if number:
            (folder / f"gate{number}").touch()
        yield name, rows_of(terminal.wait_for(what).screen)
    (folder / "gate8").touch()
    yield "final", rows_of(terminal.wait_for_prompt().screen)


def _strip() -> Iterator[tuple[str, Any]]:
    """An authored conversation at the pace of a model: it thinks and measures, and answers."""
    with _opened(72, 40, *_STAGE) as (terminal, folder):
        terminal.say("survey the Weser: what would a mill give?")
        for name, rows in _survey(terminal, folder):
            if name in ("progress", "final"):
                yield _TITLE, _filled(rows)[3:]
            elif name in ("thinking", "thoughts"):
                time.sleep(2.0)


def _filled(rows: list[Any]) -> list[Any]:
    last = max(at for at, row in enumerate(rows) if any(cell.data.strip() for cell in row.values()))
    return rows[: last + 1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

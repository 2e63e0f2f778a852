"""The progress bar: for people alone."""

from __future__ import annotations

import sys

import pytest

from headrace.cli.terminal import progress
from headrace.cli.terminal.progress import Progress


def _as_terminal(monkeypatch: pytest.MonkeyPatch, *, err: bool, out: bool) -> None:
    monkeypatch.setattr(progress, "is_terminal", lambda f: err if f is sys.stderr else out)


def test_a_terminal_sees_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _as_terminal(monkeypatch, err=True, out=False)
    bar = Progress(100)
    bar.show(40, "streams/\x1ba.sse")
    assert "decoding ━━━━━━━━──────────── 40/100 streams/␛a.sse" in capsys.readouterr().err


def test_a_message_stands_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _as_terminal(monkeypatch, err=True, out=False)
    bar = Progress(100)
    bar.show(1, "a")
    capsys.readouterr()
    bar.tell("headrace: a: \x1bno")
    assert capsys.readouterr().err == "\r\x1b[2Kheadrace: a: ␛no\n"
    bar.clear()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("total", "err", "out"), [(20, True, False), (100, False, False), (100, True, True)]
)
def test_few_files_pipes_and_rows_on_the_screen_have_no_bar(
    total: int,
    err: bool,
    out: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _as_terminal(monkeypatch, err=err, out=out)
    bar = Progress(total)
    bar.show(1, "a")
    bar.clear()
    assert capsys.readouterr().err == ""

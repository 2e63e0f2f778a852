"""The live region by itself: what it takes back, and what it does not."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest

from headrace.cli.terminal.region import Region, reflows
from headrace.cli.terminal.row import Painter, Row


class _Screen(io.StringIO):
    """Remembers what is written, and is as large as it is told."""

    columns, lines = 80, 24

    def taken(self) -> str:
        written = self.getvalue()
        self.truncate(0)
        self.seek(0)
        return written


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> _Screen:
    out = _Screen()

    def size(self: Any) -> os.terminal_size:
        return os.terminal_size((out.columns, out.lines))

    monkeypatch.setattr(Region, "size", size)
    return out


def _rows(*widths: int) -> list[Row]:
    return [Row("x" * width, width) for width in widths]


def test_nothing_is_written_where_nothing_has_changed(screen: _Screen) -> None:
    region = Region(screen, reflows=True)
    region.draw((), _rows(3, 5))
    assert screen.taken()
    region.draw((), _rows(3, 5))
    assert screen.taken() == ""


def test_it_goes_back_to_its_own_first_row_and_no_further(screen: _Screen) -> None:
    region = Region(screen, reflows=True)
    region.draw((), _rows(3, 5, 7))
    screen.taken()
    region.draw(_rows(2), _rows(4))
    assert screen.taken() == "\x1b[?2026h\r\x1b[2Axx\x1b[K\r\nxxxx\x1b[K\x1b[J\x1b[?2026l"
    region.clear()
    assert screen.taken() == "\x1b[?2026h\r\x1b[J\x1b[?25h\x1b[?2026l"
    assert region.is_empty


@pytest.mark.parametrize(("does_reflow", "up"), [(True, 4), (False, 2)])
def test_rows_that_the_terminal_breaks_anew_are_counted_as_it_breaks_them(
    screen: _Screen, does_reflow: bool, up: int
) -> None:
    region = Region(screen, reflows=does_reflow)
    region.draw((), _rows(70, 30, 79))
    screen.taken()
    screen.columns = 40
    region.draw((), _rows(30))
    assert f"\r\x1b[{up}A" in screen.taken()


def test_it_is_never_higher_than_the_screen(screen: _Screen) -> None:
    screen.lines = 5
    region = Region(screen, reflows=True)
    region.draw((), _rows(*range(1, 20)))
    assert screen.taken().count("\r\n") == 3


def test_old_terminals_do_not_break_rows_anew() -> None:
    assert reflows({"TERM": "xterm-256color"})
    assert not reflows({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"})
    assert not reflows({"TERM": "screen"})


def test_a_line_is_cut_where_it_is_too_wide() -> None:
    painter = Painter(has_colour=False)
    assert painter.line(("水車は水の力で", ""), ("回る", "bold"), columns=9).cells <= 9
    assert painter.line(("short", "bold red"), columns=9) == Row("short", 5)

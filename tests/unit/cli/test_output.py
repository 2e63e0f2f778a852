"""When there are colours."""

from __future__ import annotations

import io

import pytest

from headrace.cli.terminal.output import Paint, Style, wants_color


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_auto_means_on_a_terminal() -> None:
    assert wants_color("auto", _Terminal())
    assert not wants_color("auto", io.StringIO())


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_may_forbid_them(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert not wants_color("auto", _Terminal())


def test_what_is_said_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert wants_color("always", io.StringIO())
    assert not wants_color("never", _Terminal())


def test_paint_is_put_on_or_left_off() -> None:
    assert Paint(True)("a", Style.RED) == "\x1b[31ma\x1b[0m"
    assert Paint(True)("a", Style.PLAIN) == Paint(False)("a", Style.RED) == "a"

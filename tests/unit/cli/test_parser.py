"""The words of the command line."""

from __future__ import annotations

import pytest

from headrace.cli.main import main
from headrace.cli.option import FRAMING_NAMES
from headrace.wire.dialects import DIALECT_NAMES
from headrace.wire.framing import FRAMINGS


def test_the_names_are_those_of_the_wire() -> None:
    assert set(FRAMING_NAMES) == set(FRAMINGS)


@pytest.mark.parametrize(
    "argv",
    [
        ["decode", "--format", "yaml"],
        ["decode", "--framing", "xml"],
        ["decode", "--dialect", "latin"],
        ["decode", "--rate", "0"],
        ["decode", "--rate", "fast"],
        ["decode", "--what"],
        ["fly"],
    ],
)
def test_a_wrong_command_line_is_2_and_points_to_help(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.rstrip().endswith("--help")


def test_help_of_decode_teaches_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--help"]) == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert all(name in out for name in (*FRAMING_NAMES, *DIALECT_NAMES))

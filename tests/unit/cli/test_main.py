"""The entry: exit codes, pipes, and what a process does that a call does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.cli.commands.decode import command as decode
from headrace.cli.main import main
from tests.unit.cli.stream import HELLO, chunk, sse

HEADRACE = (sys.executable, "-m", "headrace")


def test_the_bare_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "decode" in capsys.readouterr().out


def test_it_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headrace {headrace.__version__}\n"


def test_an_interrupt_is_130_and_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(decode, "run", interrupted)
    assert main(["decode", "x"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    stream = tmp_path / "long.sse"
    stream.write_bytes(sse(*[chunk(content="word " * 20)] * 5_000, chunk("stop"), "[DONE]"))
    command = [*HEADRACE, "decode", "--format", "events", str(stream)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"seq":1,')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_a_pipe_into_the_process_is_decoded() -> None:
    command = [*HEADRACE, "decode", "--format", "message"]
    done = subprocess.run(command, input=HELLO, capture_output=True, check=True)
    assert b'"text": "Hello"' in done.stdout
    assert done.stderr == b""


def test_help_fits_into_ascii() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    for argv in ([], ["decode", "--help"]):
        subprocess.run([*HEADRACE, *argv], check=True, env=environment, stdout=subprocess.DEVNULL)


def test_help_does_not_load_the_decoder() -> None:
    code = (
        "import sys; from headrace.cli.main import main; main(['--help']);"
        "assert not {'msgspec', 'headrace.wire.decoder'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

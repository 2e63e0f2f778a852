"""Pipes, terminals that know no escape codes, and those who want none."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chat.conftest import STAGE, Theatre
from tests.chat.terminal import CTRL_C, CTRL_D, Terminal
from tests.forking.forked_process import ROOT

_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def _command(folder: Path, *argv: str) -> list[str]:
    data = str(folder / "data")
    return [sys.executable, "-m", "headrace", "chat", "--data", data, *argv]


def run_piped(folder: Path, text: str, *argv: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        _command(folder, *argv),
        input=text.encode(),
        capture_output=True,
        check=False,
        timeout=60,
        cwd=folder,
        env=_ENVIRONMENT,
    )


def test_every_line_of_a_pipe_is_a_message_and_answers_alone_go_out(tmp_path: Path) -> None:
    done = run_piped(tmp_path, "echo one\n\necho two\\\nlines\n", *STAGE)
    assert done.stdout == b"You said: echo one\nYou said: echo two\nlines\n"
    assert done.returncode == 0
    assert done.stderr == b""


def test_once_takes_all_of_it_as_one_message(tmp_path: Path) -> None:
    done = run_piped(tmp_path, "echo one\n/two\n", *STAGE, "--once")
    assert done.stdout == b"You said: echo one\n/two\n"


def test_a_file_is_as_good_as_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "question").write_text("echo from a file")
    with (tmp_path / "question").open() as file:
        command = _command(tmp_path, *STAGE)
        out = subprocess.check_output(command, stdin=file, cwd=tmp_path, env=_ENVIRONMENT)
    assert out == b"You said: echo from a file\n"


def test_tools_have_a_line_each_and_reasoning_is_shown_where_it_is_asked_for(
    tmp_path: Path,
) -> None:
    for number in range(1, 9):
        (tmp_path / f"gate{number}").touch()
    done = run_piped(tmp_path, "survey it\n", *STAGE)
    assert "```python\ndef power_kw" in done.stdout.decode()
    (line,) = done.stderr.decode().splitlines()
    assert re.fullmatch(r"survey Weser → 2\.4 m³/s over 3\.1 m · .+ m?s", line)
    told = run_piped(tmp_path, "survey it\n", *STAGE, "--reasoning").stderr.decode()
    assert "An undershot wheel" in told
    assert not _CONTROL.search(told.encode())


def test_what_is_not_answered_ends_with_1_and_says_why(tmp_path: Path) -> None:
    done = run_piped(tmp_path, "fail\necho still here\n", *STAGE)
    assert done.returncode == 1
    assert done.stdout == b"Half of \nYou said: echo still here\n"
    assert b"The provider is overloaded. Wait a moment, then retry." in done.stderr


def test_commands_work_in_a_pipe(tmp_path: Path) -> None:
    done = run_piped(tmp_path, "echo one\n/retry\n/save out.md\n/list\n/quit\necho no\n", *STAGE)
    assert done.stdout.count(b"You said") == 2
    assert re.search(rb"\*  1  .*  echo one\n", done.stdout)
    assert (tmp_path / "out.md").read_text().startswith("# echo one")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--agent", "nowhere"], "an agent is given as file.toml or module:name"),
        (["-m", "nowhere:none"], "nowhere"),
        (["-m", "openai:gpt-5"], "OPENAI_API_KEY"),
        (["--token-file", "none"], "none"),
    ],
)
def test_what_cannot_be_asked_is_said_at_once(tmp_path: Path, argv: list[str], said: str) -> None:
    keyless = {name: value for name, value in _ENVIRONMENT.items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(
        _command(tmp_path, *argv),
        input=b"hi\n",
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=keyless,
    )
    assert done.returncode == 1
    assert done.stderr.decode().startswith("headrace chat: ")
    assert said in done.stderr.decode()


@pytest.mark.parametrize(("argv", "environment"), [(["--plain"], {}), ([], {"TERM": "dumb"})])
def test_a_plain_terminal_gets_no_escape_sequence(
    theatre: Theatre, argv: list[str], environment: dict[str, str]
) -> None:
    theatre.gate(*range(1, 9))
    chat = theatre.stage(*argv, environment=environment)
    chat.wait_for("Headrace · openai-chat:scripted").wait_for("\n>").send("survey it\n")
    chat.wait_for("survey Weser → 2.4 m³/s over 3.1 m").wait_for("> Water never tires.")
    chat.wait_for(_is_waiting).send("stall\n")
    chat.wait_for("It stops here").send(CTRL_C)
    chat.wait_for("You stopped this answer. The partial answer is kept.").wait_for(_is_waiting)
    chat.send(CTRL_D)
    assert chat.wait_for_exit() == 0
    # The terminal itself echoes a carriage return, and ^C.
    assert not _CONTROL.search(chat.raw.replace(b"\r", b""))


def _is_waiting(chat: Terminal) -> bool:
    return [row for row in chat.rows if row][-1] == ">"


def test_ctrl_c_twice_leaves_a_plain_terminal(theatre: Theatre) -> None:
    chat = theatre.open("--plain")
    chat.wait_for("\n>").send(CTRL_C)
    chat.wait_for("Press Ctrl-C again").send(CTRL_C)
    assert chat.wait_for_exit() == 130


def test_an_interrupted_pipe_stops_the_answer(tmp_path: Path) -> None:
    with subprocess.Popen(
        _command(tmp_path, *STAGE),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=_ENVIRONMENT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"half\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"First paragraph.\n"
        process.send_signal(signal.SIGINT)
        # The answer must not end by itself before it is stopped.
        assert process.stderr.readline() == b"Stopping\n"
        (tmp_path / "gate1").touch()
        process.stdin.close()
        assert b"You stopped this answer." in process.stderr.read()
        assert process.wait() == 0


def test_verbose_prints_the_log_of_the_run(tmp_path: Path) -> None:
    done = run_piped(tmp_path, "echo one\n", *STAGE, "--verbose")
    assert done.stdout == b"You said: echo one\n"
    log = done.stderr.decode()
    assert re.search(r"headrace\.engine: run \S+ started", log)
    assert re.search(r"headrace\.engine: run \S+ finished \(end_turn\)", log)
    assert "echo one" not in log

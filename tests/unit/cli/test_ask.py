"""`headrace ask` as a person and as a pipe meet it."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pyte
import pytest

from headrace.cli.main import main
from headrace.cli.terminal.answer import closing_line
from headrace.events import TurnFinished, decode_record
from headrace.usage import Usage
from tests.unit.cli.server import provider
from tests.unit.cli.stream import call, chunk, sse

Capture = pytest.CaptureFixture[str]
MODEL = ["ask", "-m", "llamacpp:m"]
ANSWER = sse(
    chunk(reasoning_content="hm\n"),
    chunk(content="The answer"),
    chunk(content=" is 42."),
    chunk("stop"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 9}},
    "[DONE]",
)


@pytest.fixture(autouse=True)
def no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    _pipe_in(monkeypatch, b"")


def _pipe_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def ask(*words: str, address: str) -> int:
    return main([*MODEL, "--base-url", address, *words])


def test_the_answer_goes_to_stdout_and_thoughts_to_stderr(capsys: Capture) -> None:
    with provider(ANSWER) as (address, bodies):
        assert ask("Why", "is", "it?", address=address) == 0
    shown = capsys.readouterr()
    assert shown.out == "The answer is 42.\n"
    assert shown.err == "hm\n\n"
    assert json.loads(bodies[0])["messages"] == [{"role": "user", "content": "Why is it?"}]


def test_thoughts_can_be_hidden(capsys: Capture) -> None:
    with provider(ANSWER) as (address, _):
        ask("--hide-reasoning", "hi", address=address)
    assert capsys.readouterr().err == ""


def test_what_is_piped_in_is_asked_about(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    _pipe_in(monkeypatch, b"diff --git")
    with provider(ANSWER) as (address, bodies):
        assert ask("Explain", address=address) == 0
    assert json.loads(bodies[0])["messages"][0]["content"] == "diff --git\nExplain"


def test_files_go_along(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    files = ["-f", str(tmp_path / "notes.txt"), "-f", str(tmp_path / "photo.png")]
    with provider(ANSWER) as (address, bodies):
        assert ask(*files, "What?", address=address) == 0
    text, image, words = json.loads(bodies[0])["messages"][0]["content"]
    assert text["text"] == "notes.txt:\nremember"
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert words["text"] == "What?"


def test_events_as_json_lines(capsys: Capture) -> None:
    with provider(ANSWER) as (address, _):
        assert ask("--json", "hi", address=address) == 0
    records = [decode_record(line.encode()) for line in capsys.readouterr().out.splitlines()]
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert isinstance(records[-1].event, TurnFinished)


def test_a_recording_can_be_decoded_again(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "answer.sse"
    with provider(ANSWER) as (address, _):
        assert ask("--record", str(file), "hi", address=address) == 0
    capsys.readouterr()
    assert file.read_bytes() == ANSWER
    assert main(["decode", "--format", "message", str(file)]) == 0
    assert "The answer is 42." in capsys.readouterr().out


def test_options_reach_the_provider(capsys: Capture) -> None:
    given = [
        "--instructions",
        "Brief.",
        "--effort",
        "none",
        "--max-tokens",
        "7",
        "--temperature",
        "0",
    ]
    with provider(ANSWER) as (address, bodies):
        assert ask(*given, "hi", address=address) == 0
    body = json.loads(bodies[0])
    assert body["messages"][0] == {"role": "system", "content": "Brief."}
    assert (body["max_tokens"], body["temperature"]) == (7, 0)


def test_an_answer_that_breaks_off_is_said_and_kept(capsys: Capture) -> None:
    with provider(sse(chunk(content="half"))) as (address, _):
        assert ask("hi", address=address) == 1
    shown = capsys.readouterr()
    assert shown.out == "half\n"
    assert "headrace: incomplete: the stream ended before" in shown.err


def test_an_answer_that_ran_out_of_tokens_is_said(capsys: Capture) -> None:
    with provider(sse(chunk(content="half"), chunk("length"), "[DONE]")) as (address, _):
        assert ask("hi", address=address) == 0
    assert "ended with max_tokens" in capsys.readouterr().err


def test_a_wrong_key_says_what_to_do_and_never_shows_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-CANARY-000111222333"
    monkeypatch.setenv("DEEPSEEK_API_KEY", key)
    body = json.dumps({"error": {"message": f"Invalid key {key}", "type": "authentication_error"}})
    with provider(body.encode(), status=401) as (address, _):
        assert main(["ask", "-m", "deepseek:x", "--base-url", address, "hi"]) == 1
    shown = capsys.readouterr()
    assert "auth" in shown.err
    assert "headrace providers" in shown.err
    assert key not in shown.out + shown.err


def test_no_network_says_what_to_do(capsys: Capture) -> None:
    assert ask("hi", address="http://127.0.0.1:9/v1") == 1
    assert "Is the server running?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["ask", "hi"], "no model was given"),
        (["ask", "-m", "gpt-5", "hi"], "provider:model"),
        (["ask", "-m", "llamacpp:m"], "there is no question"),
        (["ask", "-m", "llamacpp:m", "-f", "gone.txt", "hi"], "gone.txt: No such file"),
    ],
)
def test_wrong_command_lines_help(
    argv: list[str], message: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_MODEL", raising=False)
    assert main(argv) == 2
    assert message in capsys.readouterr().err


def test_the_model_may_come_from_the_environment(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_MODEL", "llamacpp:m")
    with provider(ANSWER) as (address, _):
        assert main(["ask", "--base-url", address, "hi"]) == 0


def test_providers_are_listed_without_their_keys(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY-999")
    assert main(["providers"]) == 0
    shown = capsys.readouterr().out
    assert "✓ OPENAI_API_KEY" in shown
    assert "– none needed" in shown
    assert main(["providers", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"name": "openai", "has_key": True}.items() <= rows[0].items()
    assert "CANARY" not in shown + str(rows)


# --- on a terminal ----------------------------------------------------------------


def _on_terminal(
    address: str,
    *words: str,
    interrupt_after: bytes = b"",
    columns: int = 80,
    stdout: int | None = None,
) -> tuple[int, str]:
    """Run `headrace ask` in a pseudo-terminal; what the screen was sent, and the exit code."""
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "headrace", *MODEL, "--base-url", address, *words]
    environ = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    environ.pop("COLUMNS", None)
    out = follower if stdout is None else stdout
    with subprocess.Popen(
        command, stdin=follower, stdout=out, stderr=follower, env=environ
    ) as process:
        os.close(follower)
        screen = _read_screen(leader, process, interrupt_after)
        process.wait(timeout=60)
    os.close(leader)
    return process.returncode, screen.decode()


def _read_screen(leader: int, process: subprocess.Popen[Any], interrupt_after: bytes) -> bytes:
    screen, deadline, is_sent = b"", time.monotonic() + 60, False
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        screen += piece
        if interrupt_after and interrupt_after in screen and not is_sent:
            is_sent = True
            process.send_signal(signal.SIGINT)
    return screen


def test_on_a_terminal_thoughts_are_dim_and_the_end_tells_what_it_took() -> None:
    with provider(ANSWER) as (address, _):
        code, screen = _on_terminal(address, "hi")
    assert code == 0
    assert "\x1b[2mhm" in screen
    assert "The answer is 42.\r\n" in screen
    assert "3 tokens in · 9 out" in screen


def _rows(screen: str, columns: int) -> list[str]:
    """What is seen of it."""
    shown = pyte.Screen(columns, 40)
    pyte.Stream(shown).feed(screen)
    return [row.rstrip() for row in shown.display]


def _wide_usage(reasoning_tokens: int) -> dict[str, Any]:
    details = {"reasoning_tokens": reasoning_tokens}
    tokens = {"prompt_tokens": 4321, "completion_tokens": 1234}
    return {"choices": [], "usage": {**tokens, "completion_tokens_details": details}}


@pytest.mark.parametrize(
    ("columns", "told"), [(40, "4,321 tokens in · 1,234 out"), (100, "1,234 out (36 reasoning)")]
)
def test_every_line_fits_the_terminal(columns: int, told: str) -> None:
    answer = sse(
        chunk(reasoning_content="**A thought**\n\nthat is longer than one narrow line.\n\n"),
        chunk(content="The answer is, as has been said so often before, forty-two."),
        chunk("stop"),
        _wide_usage(36),
        "[DONE]",
    )
    with provider(answer) as (address, _):
        _code, screen = _on_terminal(address, "hi", columns=columns)
    rows = _rows(screen, columns)
    assert not [row for row in rows if len(row) >= columns]
    last = max(at for at, row in enumerate(rows) if row)
    assert rows[last].endswith(told)
    assert rows[last - 1] == ""
    assert rows[:4] == ["A thought", "", "that is longer than one narrow line.", ""]
    assert rows[4].startswith("The answer is, as has been said so")


def test_a_tool_begins_on_a_line_of_its_own() -> None:
    answer = sse(
        chunk(reasoning_content="hm"),
        chunk(content="Let me look."),
        call('{"city": "Oslo"}'),
        chunk("tool_calls"),
        "[DONE]",
    )
    with provider(answer) as (address, _):
        _code, screen = _on_terminal(address, "hi", columns=40)
    rows = ["hm", "", "Let me look.", 'the model calls weather {"city":', '"Oslo"}']
    assert _rows(screen, 40)[:5] == rows


def test_a_pipe_gets_the_answer_as_it_was_written(capsys: Capture) -> None:
    answer = sse(
        chunk(content='{"a":'), call("{}"), chunk(content="1}"), chunk("tool_calls"), "[DONE]"
    )
    with provider(answer) as (address, _):
        ask("hi", address=address)
    assert capsys.readouterr().out == '{"a":1}\n'


def test_a_thought_after_text_begins_on_a_line_of_its_own() -> None:
    answer = sse(
        chunk(content="First."),
        chunk(reasoning_content="\nhm\n\n\n"),
        chunk(content="Then."),
        chunk("stop"),
        "[DONE]",
    )
    with provider(answer) as (address, _):
        _code, screen = _on_terminal(address, "hi")
    assert _rows(screen, 80)[:4] == ["First.", "hm", "", "Then."]


def test_beside_a_pipe_the_lines_fit_the_terminal_too(tmp_path: Path) -> None:
    answer = sse(chunk(content="42"), chunk("stop"), _wide_usage(36), "[DONE]")
    with provider(answer) as (address, _), (tmp_path / "answer").open("w+") as file:
        _code, screen = _on_terminal(address, "hi", columns=40, stdout=file.fileno())
        file.seek(0)
        assert file.read() == "42\n"
    (line,) = [row for row in _rows(screen, 40) if row]
    assert line.endswith("4,321 tokens in · 1,234 out")


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (80, "1.5 s · 500 tokens in (64 cached) · 68 out (36 reasoning) · cost $0.5"),
        (60, "1.5 s · 500 tokens in · 68 out · cost $0.5"),
        (40, "1.5 s · 500 tokens in · 68 out"),
        (20, "1.5 s"),
        (21, "1.5 s · 68 tokens out"),
        (4, "1.5…"),
    ],
)
def test_what_matters_least_is_left_out_first(columns: int, line: str) -> None:
    usage = Usage(
        input_tokens=500, output_tokens=68, cached_input_tokens=64, reasoning_tokens=36, cost=0.5
    )
    assert closing_line("1.5 s", usage, columns) == line


def test_model_text_cannot_steer_the_terminal() -> None:
    hostile = sse(chunk(content="a\x1b]0;owned\x07b"), chunk("stop"), "[DONE]")
    with provider(hostile) as (address, _):
        _code, screen = _on_terminal(address, "hi")
    assert "\x1b]0;" not in screen
    assert "a␛]0;owned␇b" in screen


def test_ctrl_c_ends_cleanly_with_what_had_come() -> None:
    pieces = [sse(chunk(content=f"word{n} ")) for n in range(200)]
    with provider(*pieces, pause_s=0.05) as (address, _):
        code, screen = _on_terminal(address, "hi", interrupt_after=b"word2")
    assert code == 130
    assert "word1 word2" in screen
    assert "interrupted" in screen
    assert "Traceback" not in screen


# -- what could not be read

GAP = sse(
    chunk(content="The dose is "), "{broken", chunk(content="10 mg."), chunk("stop"), "[DONE]"
)
RESTORED = sse(
    {"type": "response.output_text.delta", "output_index": 0, "delta": "one "},
    "{broken",
    {"type": "response.output_text.delta", "output_index": 0, "delta": "three"},
    {"type": "response.output_text.done", "output_index": 0, "text": "one two three"},
    {"type": "response.completed", "response": {"output": []}},
)


def test_an_answer_with_a_gap_is_printed_with_a_warning(capsys: Capture) -> None:
    with provider(GAP) as (address, _):
        assert ask("Dose?", address=address) == 0
    shown = capsys.readouterr()
    assert shown.out == "The dose is 10 mg.\n"
    assert "1 frame of the stream could not be read: part of the answer may be missing" in shown.err


def test_strict_exits_with_3_for_an_answer_with_a_gap(capsys: Capture) -> None:
    with provider(GAP) as (address, _):
        assert ask("Dose?", "--strict", address=address) == 3
        assert ask("Dose?", "--strict", "--json", address=address) == 3
    with provider(ANSWER) as (address, _):
        assert ask("Dose?", "--strict", address=address) == 0
    capsys.readouterr()


def test_a_restored_text_is_printed_again_as_a_whole(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with provider(RESTORED) as (address, _):
        assert main(["ask", "-m", "openai:gpt-5", "--base-url", address, "Count"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "one three\none two three\n"
    assert "a piece was missing; the whole text again:" in shown.err


# --- the log -----------------------------------------------------------------------------


def test_verbose_prints_the_log_beside_the_answer() -> None:
    with provider(ANSWER) as (address, _):
        command = [sys.executable, "-m", "headrace", *MODEL, "--base-url", address, "PROMPT-heron"]
        quiet = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        loud = subprocess.run(
            [*command, "--verbose"], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
    assert quiet.stdout == loud.stdout == b"The answer is 42.\n"
    assert quiet.stderr == b"hm\n\n"
    log = [line for line in loud.stderr.decode().splitlines() if " headrace." in line]
    assert [line.split()[2] for line in log] == [
        "headrace.turn:",
        "headrace.transport:",
        "headrace.transport:",
        "headrace.transport:",
        "headrace.turn:",
    ]
    assert f"POST {address}/chat/completions" in log[1]
    assert b"PROMPT-heron" not in loud.stderr

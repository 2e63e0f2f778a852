"""`headrace decode`, as a user runs it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace import decode_record
from headrace.cli.main import main
from headrace.events import TurnFailed, TurnFinished
from tests.unit.cli.stream import ANTHROPIC, FAILED, FOREIGN_STREAM, HELLO, THINK, chunk, sse

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def _json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


# --- formats ---------------------------------------------------------------------


def test_the_table_has_a_row_for_each_event(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(THINK)
    assert main(["decode", "a.sse"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    header, *rows = shown.out.splitlines()
    assert header == "  time s  event                 part"
    times = [float(row[:8]) for row in rows]
    assert times == sorted(times)
    assert times[0] == 0
    assert [row[8:] for row in rows] == [
        "  turn_started                chat · m-1 · c1",
        "  output_started              output 0 · assistant",
        "  reasoning_started        0",
        "  reasoning_delta          0  hm⏎yes",
        "  reasoning_finished       0",
        "  tool_call_started        1  weather · call_1",
        '  tool_call_args_delta     1  {"city": "Oslo"}',
        '  tool_call_finished       1  weather {"city": "Oslo"}',
        "  output_finished             output 0 · tool_use (tool_calls)",
        "  turn_finished               tool_use · 1,200 tokens in (1,000 cached) · 7 out",
    ]


def test_events_are_records_as_json_lines(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(HELLO)
    assert main(["decode", "--format", "events", "a.sse"]) == 0
    records = [decode_record(line.encode()) for line in capsys.readouterr().out.splitlines()]
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert isinstance(records[-1].event, TurnFinished)


def test_a_message_is_readable_json(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(HELLO)
    assert main(["decode", "--format", "message", "a.sse"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["turns"][0]["parts"][0]["text"] == "Hello"
    assert len(out.splitlines()) > 5


def test_results_are_one_line_a_file(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(HELLO)
    (folder / "b.sse").write_bytes(ANTHROPIC)
    assert main(["decode", "--format", "result", "a.sse", "b.sse"]) == 0
    rows = _json_lines(capsys.readouterr().out)
    assert [(row["file"], row["text"]) for row in rows] == [("a.sse", "Hello"), ("b.sse", "Hei")]


@pytest.mark.parametrize("form", ["events", "message"])
@pytest.mark.parametrize("names", [["s/a.sse", "s/a.sse"], ["s"]])
def test_lines_of_several_files_or_a_folder_name_their_file(
    form: str, names: list[str], folder: Path, capsys: Capture
) -> None:
    (folder / "s").mkdir()
    (folder / "s" / "a.sse").write_bytes(HELLO)
    assert main(["decode", "--format", form, *names]) == 0
    rows = _json_lines(capsys.readouterr().out)
    inner = {"events": "record", "message": "message"}[form]
    assert {row["file"] for row in rows} == {os.path.join("s", "a.sse")}
    assert all(list(row) == ["file", inner] for row in rows)


def test_tables_of_several_files_have_headings(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(HELLO)
    (folder / "b.jsonl").write_bytes(b'{"error": {"message": "no"}}\n')
    assert main(["decode", "a.sse", "b.jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "── a.sse (sse)"
    assert lines[lines.index("── b.jsonl (lines)") - 1] == ""


# --- sources ---------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["decode"], ["decode", "-"]])
def test_standard_input_is_decoded(
    argv: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stdin(monkeypatch, HELLO)
    assert main([*argv, "--format", "result"]) == 0
    (row,) = _json_lines(capsys.readouterr().out)
    assert (row["file"], row["text"]) == ("-", "Hello")


def test_standard_input_may_have_a_rate(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, HELLO)
    assert main(["decode", "--rate", "2", "--format", "events"]) == 0
    assert _json_lines(capsys.readouterr().out)[-1]["at_ms"] == 1500


def test_a_terminal_as_standard_input_is_a_usage_error(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["decode"]) == 2
    assert "--help" in capsys.readouterr().err


def test_an_error_body_printed_for_people_is_decoded(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stdin(monkeypatch, b'{\n  "error": {\n    "message": "no key"\n  }\n}\n')
    assert main(["decode", "--format", "result"]) == 0
    assert json.loads(capsys.readouterr().out)["error"]["message"] == "no key"


def test_recorded_times_are_used(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(HELLO)
    first = HELLO.index(b"\n\n") + 2
    reads = {"lens": [first, len(HELLO) - first], "ms": [3, 420]}
    (folder / "a.sse.chunks.json").write_text(json.dumps(reads))
    assert main(["decode", "--format", "events", "."]) == 0
    times = [row["record"]["at_ms"] for row in _json_lines(capsys.readouterr().out)]
    assert sorted(set(times)) == [0, 420]


def test_the_dialect_may_be_said(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(FOREIGN_STREAM)
    assert main(["decode", "--dialect", "chat", "--format", "events", "a.sse"]) == 0
    record = decode_record(capsys.readouterr().out.splitlines()[-1].encode())
    assert isinstance(record.event, TurnFailed)


# --- what goes wrong -------------------------------------------------------------


def test_a_failed_turn_was_decoded_well(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(FAILED)
    assert main(["decode", "a.sse"]) == 0
    assert "rate_limit: too many" in capsys.readouterr().out


def test_bad_files_are_named_and_the_others_decoded(folder: Path, capsys: Capture) -> None:
    files = {
        "1.sse": HELLO,
        "2.sse": FOREIGN_STREAM,
        "4.sse": b"",
        "5.sse": HELLO,
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    names = [*files, "gone.sse"]
    assert main(["decode", "--format", "result", *names]) == 1
    shown = capsys.readouterr()
    assert [row["file"] for row in _json_lines(shown.out)] == ["1.sse", "5.sse"]
    assert shown.err.splitlines() == [
        "headrace: 2.sse: this stream is in no known dialect; choose one with --dialect:"
        " chat, anthropic, responses, gemini, ollama, xai, bedrock, text, cohere, interactions,"
        " bedrock-agent",
        "headrace: 4.sse: the stream is empty",
        "headrace: gone.sse: No such file or directory",
        "headrace: 3 of 5 files could not be decoded",
    ]


def test_a_stream_of_nobody_prints_no_row(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(FOREIGN_STREAM)
    for form in ("table", "events", "message", "result"):
        assert main(["decode", "--format", form, "a.sse"]) == 1
        assert capsys.readouterr().out == ""


def test_a_folder_without_streams_is_an_error(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "."]) == 1
    assert capsys.readouterr().err.startswith("headrace: .: no recorded streams")


# --- safety ----------------------------------------------------------------------


def test_no_control_character_of_a_stream_reaches_the_terminal(
    folder: Path, capsys: Capture
) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\x9b1A\x7f\r\u202e"
    data = sse(
        chunk(content=hostile, reasoning_content=hostile) | {"model": hostile, "id": hostile},
        {"error": {"message": hostile, "code": hostile}},
    )
    (folder / "a.sse").write_bytes(data)
    assert main(["decode", "a.sse"]) == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert not set(out) & set("\x1b\x07\x9b\x7f\r\u202e")


@pytest.mark.skipif(sys.platform == "win32", reason="names are bytes on POSIX")
def test_a_name_that_is_no_utf8_is_decoded_too(folder: Path, capsys: Capture) -> None:
    name = os.fsdecode(b"\xff.sse")
    (folder / name).write_bytes(HELLO)
    assert main(["decode", "--format", "result", name]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "\ufffd.sse"


def test_colours_only_where_they_are_wanted(folder: Path, capsys: Capture) -> None:
    (folder / "a.sse").write_bytes(THINK)
    main(["decode", "a.sse"])
    assert "\x1b" not in capsys.readouterr().out
    main(["decode", "--color", "always", "a.sse"])
    out = capsys.readouterr().out
    for code, name in (("2", "reasoning_delta"), ("1", "tool_call_started"), ("32", "turn_fin")):
        assert f"\x1b[{code}m{name}" in out

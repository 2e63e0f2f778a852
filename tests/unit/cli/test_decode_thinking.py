"""`headrace decode --as thinking`, as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.commands.decode.frame_printer import FrameRows
from headrace.cli.main import main
from headrace.cli.terminal.output import Paint
from headrace.projections.thinking import END_OF_FRAMES, ThinkingFrame
from headrace.projections.thinking import frame as fr
from tests.unit.cli.stream import FAILED, HELLO, THINK, chunk, sse

Capture = pytest.CaptureFixture[str]
HOSTILE = "x\x1b[31m\u202e\x00 世界 " + "W" * 200


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two streams."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sse").write_bytes(HELLO)
    (tmp_path / "b.sse").write_bytes(THINK)
    return tmp_path


def _shown(capsys: Capture, *argv: str) -> list[str]:
    assert main(["decode", "--as", "thinking", *argv]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out.splitlines()


# --- rows --------------------------------------------------------------------------


def test_there_is_a_row_for_each_frame(folder: Path, capsys: Capture) -> None:
    header, *rows = _shown(capsys, "b.sse")
    assert header == "  time s  frame"
    times = [float(row[:8]) for row in rows]
    assert times == sorted(times)
    done = (
        'done               finish_reason tool_use · usage {"input_tokens":1200,"output_tokens":7,…'
    )
    assert [row[8:] for row in rows] == [
        "  thinking_start",
        "  thinking_delta     hm⏎yes",
        "  thinking_end       duration 0 · duration_ms 20",
        '  tool_call_start    toolName weather · arguments {"city":"Oslo"}',
        "  status             Using weather: Oslo · source tool",
        "  thinking_complete  hm⏎yes · duration 0 · duration_ms 20",
        f"  {done}",
        "  [DONE]",
    ]


def test_a_failure_is_an_error_frame_and_no_failure_of_the_command(
    folder: Path, capsys: Capture
) -> None:
    (folder / "c.sse").write_bytes(FAILED)
    rows = _shown(capsys, "c.sse")[1:]
    assert [row[10:].split()[0] for row in rows] == ["error", "[DONE]"]


def test_several_files_have_headings_and_ends_of_their_own(folder: Path, capsys: Capture) -> None:
    rows = _shown(capsys, "a.sse", "b.sse")
    headings = [row for row in rows if row.startswith("──")]
    assert headings == ["── a.sse (sse)", "── b.sse (sse)"]
    assert rows[rows.index(headings[1]) - 1] == ""
    assert sum(row.endswith("[DONE]") for row in rows) == 2
    assert not [row for row in _shown(capsys, "a.sse") if row.startswith("──")]


# --- payloads ----------------------------------------------------------------------


def test_events_are_the_payloads(folder: Path, capsys: Capture) -> None:
    lines = _shown(capsys, "--format", "events", "a.sse")
    assert lines.pop() == "[DONE]"
    payloads = [json.loads(line) for line in lines]
    assert [payload["type"] for payload in payloads] == [
        "text_start", "text_delta", "text_delta", "text_end", "done"
    ]  # fmt: skip
    assert payloads[1] == {"type": "text_delta", "content": "Hel"}


@pytest.mark.parametrize("names", [["a.sse", "b.sse"], ["."]])
def test_payloads_of_several_files_or_a_folder_name_their_file(
    names: list[str], folder: Path, capsys: Capture
) -> None:
    lines = [json.loads(line) for line in _shown(capsys, "--format", "events", *names)]
    assert {Path(line["file"]).name for line in lines} == {"a.sse", "b.sse"}
    assert all(list(line) == ["file", "frame"] for line in lines)
    assert [line["frame"] for line in lines].count("[DONE]") == 2


# --- what does not go together -------------------------------------------------------


@pytest.mark.parametrize("form", ["message", "result", "timeline"])
def test_another_format_is_a_wrong_command_line(form: str, folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--as", "thinking", "--format", form, "a.sse"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        f"headrace decode: --as thinking has the formats table and events, not {form}\n"
    )


def test_a_picture_is_a_wrong_command_line(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--as", "thinking", "--svg", "a.svg", "a.sse"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "headrace decode: --svg draws the timeline, which --as thinking does not have\n"
    )
    assert not (folder / "a.svg").exists()


def test_an_unknown_vocabulary_is_a_wrong_command_line(folder: Path, capsys: Capture) -> None:
    assert main(["decode", "--as", "dreaming", "a.sse"]) == 2
    assert "thinking" in capsys.readouterr().err


def test_a_file_that_is_no_stream_is_told_and_the_others_are_shown(
    folder: Path, capsys: Capture
) -> None:
    assert main(["decode", "--as", "thinking", "missing.sse", "a.sse"]) == 1
    shown = capsys.readouterr()
    assert "missing.sse" in shown.err
    assert shown.out.endswith("[DONE]\n")


# --- width and colour ----------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 20, 60, 100])
@pytest.mark.parametrize(
    "frame",
    [
        fr.ThinkingDelta(HOSTILE, 0),
        fr.ToolCallStart(HOSTILE, {"q": HOSTILE}, 0, error=HOSTILE),
        fr.Error(HOSTILE, "server", 0),
    ],
)
def test_a_row_fits_into_its_width_whatever_is_said(columns: int, frame: ThinkingFrame) -> None:
    row = FrameRows("thinking", columns, Paint(False), is_several=True).line(frame)
    assert len(row) <= max(columns, 49)
    assert not re.search("[\x00-\x1f\x7f\u202e]", row)


def test_a_heading_fits_into_its_width() -> None:
    rows = FrameRows("thinking", 20, Paint(False), is_several=True)
    assert len(rows.header("a" * 90 + ".sse", "sse")[0]) == 20


def test_colours_tell_thinking_tools_and_ends_apart(folder: Path, capsys: Capture) -> None:
    rows = _shown(capsys, "--color", "always", "b.sse")[1:]
    looks = {re.sub(r"\x1b\[[\d;]*m", "", row).split()[1]: _look(row) for row in rows}
    assert looks == {
        "thinking_start": "",
        "thinking_delta": "2",
        "thinking_end": "",
        "tool_call_start": "36",
        "status": "1",
        "thinking_complete": "",
        "done": "",
        "[DONE]": "",
    }


def _look(row: str) -> str:
    """The colour of what is said; the time before it is always dim."""
    found = re.match(r"\x1b\[2m *[\d.]+\x1b\[0m  \x1b\[([\d;]+)m", row)
    return found[1] if found else ""


@pytest.mark.parametrize(
    ("frame", "look"),
    [(fr.Error("m", "server", 0), "31"), (fr.Cancelled(0), "33"), (END_OF_FRAMES, "")],
)
def test_a_bad_end_stands_out(frame: Any, look: str) -> None:
    assert _look(FrameRows("thinking", 80, Paint(True), is_several=True).line(frame)) == look


def test_there_are_no_colours_in_a_pipe(folder: Path, capsys: Capture) -> None:
    assert not [row for row in _shown(capsys, "b.sse") if "\x1b" in row]


def test_long_text_is_cut_at_the_width_of_a_pipe(folder: Path, capsys: Capture) -> None:
    (folder / "c.sse").write_bytes(sse(chunk("stop", content="word " * 40), "[DONE]"))
    (row,) = [row for row in _shown(capsys, "c.sse") if "text_delta" in row]
    assert len(row) == 100
    assert row.endswith("…")
